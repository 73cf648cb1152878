/** Opens a Postgres database for somebody who only looks at its condition, as the role that serves. */

import type { LogoutTimes } from '../../../application/decisions/fact.ts';
import { isLoggedOut, logoutQuestions } from '../../../application/decisions/logged-out.ts';
import type { SealingCondition, StorageCondition } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Instant } from '../../../domain/instant.ts';
import { parseMonth } from '../../../domain/ledger/month.ts';
import { outboxBacklog, sealingBacklog } from './backlog.ts';
import { openConnections } from './connections.ts';
import { readFacts } from './facts.ts';
import { guardCondition } from './guard-condition.ts';
import { SERVING_LIMITS } from './limits.ts';
import { linkCondition } from './link-condition.ts';
import { readSchemaStatus } from './migrate.ts';
import { postgresSponsors } from './queries.ts';
import { isSetBack } from './readiness.ts';
import { orRefusal } from './refusal.ts';
import { roleCondition } from './role-condition.ts';

/** Its questions are asked side by side. */
const POOL_SIZE = 4;

const version = { name: 'condition_version', text: "select current_setting('server_version') as version" };
const time = { name: 'condition_time', text: 'select clock_timestamp() as now' };
const partitions = {
  name: 'condition_partitions',
  text: `select c.relname::text as name from pg_inherits join pg_class c on c.oid = inhrelid
    where inhparent = 'ledger'::regclass and not inhdetachpending order by c.relname`,
};
const signers = { name: 'condition_signers', text: 'select distinct kid from checkpoints' };

export function openPostgresCondition(connectionString: string, log: Log): StorageCondition {
  const connections = openConnections({ connectionString, poolSize: POOL_SIZE, limits: SERVING_LIMITS }, log);
  const { run } = connections;
  return {
    async server() {
      const { rows } = await orRefusal('serving', () => run<{ version: string }>(version));
      return `Postgres ${rows[0]?.version.split(' ')[0] ?? ''}`;
    },
    link: async () => linkCondition(connectionString),
    schema: () => readSchemaStatus(connections),
    async now() {
      const { rows } = await run<{ now: Instant }>(time);
      return rows[0]?.now;
    },
    role: () => roleCondition(run),
    guards: () => guardCondition(run),
    async months() {
      const { rows } = await run<{ name: string }>(partitions);
      return rows.flatMap(({ name }) => parseMonth(name.replace(/^ledger_/, '').replace('_', '-')) ?? []);
    },
    async isSetBack() {
      const { rows } = await run<{ set_back: boolean | null }>(isSetBack);
      return rows[0]?.set_back === true;
    },
    async sealing(): Promise<SealingCondition> {
      const backlog = await sealingBacklog(run);
      const kids = (await run<{ kid: string }>(signers)).rows.map(({ kid }) => kid);
      return { ...backlog, signers: kids };
    },
    outbox: () => outboxBacklog(run),
    findBlocks: postgresSponsors(connections).findBlocks,
    async isLoggedOut(token, at) {
      const [answers] = await readFacts(run, [{ logouts: logoutQuestions(token) }]);
      return isLoggedOut(answers?.logouts as readonly (LogoutTimes | undefined)[], token.issuedAt, at);
    },
    close: () => connections.close(),
  };
}
