/**
 * Finds each place of the service that can grow or make a request wait, and compares their files with the table of
 * docs/waiting.md. A new place fails this test until its bound is known. It needs a row unless it ends with its request.
 */

import { expect } from 'chai';
import { growingPlaces, tableBelow } from './support/growing-places.ts';

const FOLDERS = ['domain', 'application', 'adapters', 'composition'];
/** It has another list and another table: test/adapters/sdk/tool-server/limits.test.ts. The agent's library runs in the agent. */
const SDK = 'adapters/sdk/';

const BUILDERS = [
  ...['concurrencyLimiter', 'keyedLimiter', 'tokenBuckets', 'circuit', 'strangersWait', 'manyWait'],
  ...['collector', 'setReader', 'messageBatcher', 'linesPerMinute', 'throttledLog', 'startRecurring'],
].join('|');

const KINDS = new RegExp(
  [
    // Collections and queues.
    String.raw`new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)|new LRUCache\b|\.shift\(\)|(?:const waiting|pipelined): \w+\[\]`,
    // Timers and waits.
    String.raw`\bset(?:Timeout|Interval|Immediate)\(|AbortSignal\.timeout\(|await pause\(|Promise\.race\(|\btimeLimit\(`,
    // Work that requests share or wait for in turn.
    String.raw`\blet \w+: Promise<|\bqueue: Promise<`,
    // Connections, threads and streams.
    String.raw`\bcreateServer\(|\.maxConnections = |new (?:https?\.|Tunnel)Agent\(|new pg\.Pool\(|new Worker\(|new Writable\(`,
    // What the service builds of these.
    String.raw`(?<!function )\b(?:${BUILDERS})(?:<.*>)?\(`,
  ].join('|'),
  'g',
);

/** The places of each file that outlive one request. The file has a row. */
const lasting: Readonly<Record<string, number>> = {
  'adapters/http/admin/agent-representation.ts': 1,
  'adapters/http/admin/audit-stream.ts': 3,
  'adapters/http/admission/admission.ts': 2,
  'adapters/http/admission/concurrency.ts': 9,
  'adapters/http/admission/rate-limit.ts': 2,
  'adapters/http/browser/several-sessions.ts': 1,
  'adapters/http/message/body.ts': 1,
  'adapters/http/server/connection.ts': 3,
  'adapters/http/server/server.ts': 7,
  'adapters/http/server/throttled-log.ts': 3,
  'adapters/http/witness/witness-app.ts': 7,
  'adapters/identity-provider/discovery.ts': 1,
  'adapters/identity-provider/polled-sponsors.ts': 2,
  'adapters/identity-provider/service-token.ts': 1,
  'adapters/jose/agent-keys.ts': 4,
  'adapters/jose/approval-keys.ts': 2,
  'adapters/jose/key-waits.ts': 1,
  'adapters/jose/provider-keys.ts': 2,
  'adapters/jose/signing-keys.ts': 2,
  'adapters/outbound/client-documents.ts': 1,
  'adapters/platform/http-network.ts': 7,
  'adapters/platform/system-clock.ts': 3,
  'adapters/platform/tunnel.ts': 1,
  'adapters/storage/collector.ts': 7,
  'adapters/storage/dialect.ts': 2,
  'adapters/storage/postgres/ask.ts': 2,
  'adapters/storage/postgres/decide.ts': 9,
  'adapters/storage/postgres/keyed-limiter.ts': 4,
  'adapters/storage/postgres/ledger.ts': 1,
  'adapters/storage/postgres/pool/commits.ts': 1,
  'adapters/storage/postgres/pool/connection-pool.ts': 1,
  'adapters/storage/postgres/pool/driver.ts': 3,
  'adapters/storage/postgres/pool/pool.ts': 3,
  'adapters/storage/postgres/pool/sessions.ts': 1,
  'adapters/storage/postgres/pool/switches.ts': 2,
  'adapters/storage/postgres/pool/transactions.ts': 2,
  'adapters/storage/postgres/pool/unanswered.ts': 2,
  'adapters/storage/postgres/pool/watchdog.ts': 3,
  'adapters/storage/postgres/readiness.ts': 1,
  'adapters/storage/postgres/set-reader.ts': 1,
  'adapters/storage/sqlite/connection.ts': 1,
  'adapters/storage/sqlite/errors.ts': 1,
  'adapters/storage/sqlite/group-commit.ts': 1,
  'adapters/storage/sqlite/handle.ts': 3,
  'adapters/storage/sqlite/log-checkpoints.ts': 1,
  'adapters/storage/sqlite/outbox.ts': 2,
  'adapters/storage/sqlite/readiness.ts': 1,
  'adapters/storage/sqlite/start-thread.ts': 1,
  'adapters/storage/sqlite/worker/rpc.ts': 5,
  'adapters/storage/sqlite/worker/supervisor.ts': 1,
  'adapters/telemetry/log-lines.ts': 2,
  'adapters/telemetry/outage-log.ts': 1,
  'adapters/telemetry/scrape-listener.ts': 3,
  'adapters/telemetry/service-metrics.ts': 2,
  'application/authentication/agent-cache.ts': 1,
  'application/doctor/examine.ts': 1,
  'application/doctor/shared-examination.ts': 1,
  'application/ledger/anonymous-denials.ts': 1,
  'application/ledger/record-stream.ts': 3,
  'application/ledger/sealed-trees.ts': 2,
  'application/log/listed-keys.ts': 2,
  'application/log/witnessing.ts': 1,
  'application/token/open-listed-task.ts': 1,
  'application/token/status-list.ts': 3,
  'composition/commands/witness/serve.ts': 1,
  'composition/container.ts': 1,
  'composition/doctor/provider-sources.ts': 1,
  'composition/doctor/sources.ts': 1,
  'composition/http.ts': 4,
  'composition/operators.ts': 1,
  'composition/pages/authorize.ts': 1,
  'composition/pages/me.ts': 1,
  'composition/pages/provider-sign-in.ts': 1,
  'composition/receivers.ts': 2,
  'composition/recurring.ts': 3,
  'composition/service.ts': 2,
  'composition/transparency-log.ts': 3,
  'domain/ledger/aggregation.ts': 1,
};

/** The maps, sets and waits of one request, answer or page: they end with it, and it has a bound. */
const ofOneCall: Readonly<Record<string, number>> = {
  'adapters/http/console/delegation/graph.ts': 4,
  'adapters/http/message/query.ts': 1,
  'adapters/http/oauth/form.ts': 2,
  'adapters/http/scim/requests.ts': 1,
  'adapters/http/server/problem-document.ts': 2,
  'adapters/storage/postgres/facts.ts': 3,
  'adapters/storage/postgres/live-tasks.ts': 1,
  'application/admin/recent-denials.ts': 1,
  'application/decisions/effect.ts': 1,
  'application/decisions/end-tasks.ts': 1,
  'application/decisions/log-out.ts': 1,
  'application/decisions/provisioning.ts': 2,
  'application/doctor/agents.ts': 1,
  'application/doctor/status-lists.ts': 1,
  'application/ledger/recorded-signers.ts': 2,
  'application/ledger/trusted-chain.ts': 4,
  'domain/agents/public-key.ts': 1,
  'domain/ledger/archived-part.ts': 1,
  'domain/ledger/recorded-keys.ts': 1,
  'domain/log/note.ts': 1,
  'domain/signals/user-resource.ts': 1,
  'domain/tokens/strict-json.ts': 1,
};

/** Those of a command, or of the start of the service: no client reaches them. */
const ofCommands: Readonly<Record<string, number>> = {
  'adapters/cli/admin-key.ts': 1,
  'adapters/cli/agent-files/read-agent-files.ts': 1,
  'adapters/cli/confirm.ts': 1,
  'adapters/cli/yaml/yaml-documents.ts': 3,
  'adapters/http/admin/operator-router.ts': 1,
  'adapters/http/routes.ts': 1,
  'adapters/platform/ipv6.ts': 1,
  'adapters/storage/postgres/archives.ts': 1,
  'adapters/storage/postgres/writing-condition.ts': 1,
  'application/ledger/compare-sink.ts': 3,
  'application/ledger/departures.ts': 1,
  'application/ledger/export-lines.ts': 2,
  'application/ledger/verify-export.ts': 1,
  'application/log/make-bundle.ts': 3,
  'application/log/tree-records.ts': 1,
  'composition/commands/audit-archive.ts': 1,
  'composition/commands/doctor.ts': 3,
  'composition/commands/audit-verify/ledger.ts': 1,
  'composition/guard/probe.ts': 1,
  'composition/guard/run-guard.ts': 1,
  'composition/settings/given-settings.ts': 4,
  'composition/settings/read-settings.ts': 3,
  'composition/settings/rules.ts': 1,
  'domain/approvals/approval-order.ts': 2,
  'domain/delegation/delegation-order.ts': 4,
  'domain/delegation/task-tree.ts': 1,
  'domain/log/bundle-hops.ts': 2,
  'domain/log/bundle-order.ts': 3,
  'domain/log/bundle-questions.ts': 2,
  'domain/log/bundle-verification.ts': 2,
};

describe('Everything of the service that can be filled or waited for', () => {
  const table = tableBelow('docs/waiting.md', '## Who can fill what');
  const rows = table.split('\n').slice(2);

  it('is known, with the number of places in each file', () => {
    const found = Object.entries(growingPlaces(FOLDERS, KINDS)).filter(([file]) => !file.startsWith(SDK));
    expect(Object.fromEntries(found)).to.deep.equal({ ...lasting, ...ofOneCall, ...ofCommands });
  });

  it('has a row on the page if it outlives a request', () => {
    const named = [...table.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file]) => file);
    expect([...new Set(named)].sort()).to.deep.equal(Object.keys(lasting).sort());
  });

  it('has a bound in each row, and who can fill it', () => {
    expect(rows).to.have.length.within(30, 45);
    for (const row of rows) {
      const [, what, bound, who] = row.split('|').map((cell) => cell.trim());
      expect(what, row).to.match(/`[\w/-]+\.ts`/);
      expect(bound, row).to.match(/\d|\b(?:one|few|settings)\b/);
      expect(who, row).to.match(
        /\b(?:stranger|agents|people|operators?|provider|client|only|another process|watched log|as the wait)\b/,
      );
    }
  });
});
