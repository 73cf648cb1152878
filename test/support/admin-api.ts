/** The endpoints for operators, auditors and keys of agents, over real HTTP, on SQLite in memory. */

import { createServer } from 'node:http';
import express from 'express';
import supertest from 'supertest';
import { type AdminSurface, adminRouter } from '../../adapters/http/admin/admin-router.ts';
import { auditRouter } from '../../adapters/http/admin/audit-router.ts';
import { agentKeysRouter } from '../../adapters/http/public/documents.ts';
import { agentKeys } from '../../adapters/jose/agent-keys.ts';
import { checkpointVerifier } from '../../adapters/jose/checkpoint-signatures.ts';
import { eventLoopTurn } from '../../adapters/platform/system-clock.ts';
import { sha256, sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { blockSponsor, unblockSponsor } from '../../application/admin/block-sponsor.ts';
import { listActs } from '../../application/admin/list-acts.ts';
import { listAgents } from '../../application/admin/list-agents.ts';
import { listBlocks } from '../../application/admin/list-blocks.ts';
import { listTasks, showTask } from '../../application/admin/list-tasks.ts';
import { registerAgent } from '../../application/admin/register-agent.ts';
import { removeAgent } from '../../application/admin/remove-agent.ts';
import { stopEverything } from '../../application/admin/stop-everything.ts';
import { stopTasks } from '../../application/admin/stop-tasks.ts';
import { updateAgent } from '../../application/admin/update-agent.ts';
import { anonymousDenials } from '../../application/ledger/anonymous-denials.ts';
import { findArchivedPart } from '../../application/ledger/find-archived-part.ts';
import { proveRecord } from '../../application/ledger/prove.ts';
import { listCheckpoints, queryLedger } from '../../application/ledger/query.ts';
import { sealLedger } from '../../application/ledger/seal.ts';
import { sealedTrees } from '../../application/ledger/sealed-trees.ts';
import type { Agents } from '../../application/ports/agents.ts';
import type { Checkpoints } from '../../application/ports/checkpoints.ts';
import type { Decisions } from '../../application/ports/decisions.ts';
import type { Ledger } from '../../application/ports/ledger.ts';
import { NetworkFailure } from '../../application/ports/network.ts';
import type { RegistrationRules } from '../../domain/agents/registration.ts';
import { type LedgerRecord, presentRecord } from '../../domain/ledger/record.ts';
import { Secret } from '../../domain/secret.ts';
import { usersInTheWay } from '../../domain/signals/provisioned-user.ts';
import { type CapturedLog, capturedLog } from './captured-log.ts';
import { sendBytes } from './hostile/send-bytes.ts';
import { chainOf } from './ledger/chain.ts';
import { newKeys } from './ledger-fixture.ts';
import { closeServer, listen } from './listening.ts';
import { agreeing, type MovedClock, movedClock } from './moved-clock.ts';
import { RULES } from './registrations.ts';
import { openTestDatabase, type TestDatabase } from './test-database.ts';

export const ADMIN_KEY = 'an-admin-key-of-these-tests-0123456789abcdef';

export interface AdminApi {
  readonly url: string;
  readonly storage: TestDatabase;
  readonly clock: MovedClock;
  readonly log: CapturedLog;
  /** The denial reason in the log line of each request. */
  readonly reasons: unknown[];
  /** Sends a request with the admin key. */
  send(method: Method, path: string, body?: unknown): supertest.Test;
  /** Sends requests without the admin key. */
  readonly stranger: ReturnType<typeof supertest>;
  /** Sends this text as UTF-8, and resolves with all received bytes. */
  raw(text: string): Promise<string>;
  /** Seals all unsealed records. */
  seal(): Promise<void>;
  /** All records, in the format of `GET /audit`. */
  records(): Promise<readonly Readonly<Record<string, unknown>>[]>;
  stop(): Promise<void>;
}

type Method = 'get' | 'head' | 'post' | 'put' | 'patch' | 'delete' | 'options';

interface AdminApiOptions {
  /** With `null`, the service has no admin key. */
  readonly apiKey?: string | null;
  readonly rules?: RegistrationRules;
  /** These wrap the ports, for failures that a real database does not produce on demand. */
  readonly decisions?: (decisions: Decisions) => Decisions;
  readonly agents?: (agents: Agents) => Agents;
  readonly ledger?: (ledger: Ledger) => Ledger;
  readonly checkpoints?: (checkpoints: Checkpoints) => Checkpoints;
}

export async function startAdminApi(options: AdminApiOptions = {}): Promise<AdminApi> {
  const clock = movedClock();
  const log = capturedLog();
  const storage = await openTestDatabase();
  const agents = options.agents?.(storage.agents) ?? storage.agents;
  const ledger = options.ledger?.(storage.ledger) ?? storage.ledger;
  const checkpoints = options.checkpoints?.(storage.checkpoints) ?? storage.checkpoints;
  const keys = await newKeys();
  const reading = { checkpoints, hash: sha256Bytes, clock, turn: eventLoopTurn };
  const trees = sealedTrees({ ...reading, verifier: checkpointVerifier(keys.published()) });
  const archivedPart = findArchivedPart({ checkpoints, trees, hash: sha256Bytes, verifier: undefined });
  const decisions = options.decisions?.(storage) ?? storage;
  const service = {
    archivedPart,
    decisions,
    agents,
    tasks: storage.tasks,
    sponsors: storage.sponsors,
    ledger,
    clock,
    sharedTime: agreeing(clock),
    log,
    digest: sha256,
    // Without a window, each anonymous denial has its own record.
    anonymous: anonymousDenials({ decisions, clock, log }, undefined),
    rules: options.rules ?? RULES,
    // No test with this service fetches keys.
    agentKeys: agentKeys({ send: () => Promise.reject(new NetworkFailure('no network in these tests')) }, clock, log),
  };
  const apiKey = options.apiKey === null ? undefined : new Secret(options.apiKey ?? ADMIN_KEY);
  const refuse: AdminSurface['refuse'] = async (reason) => service.anonymous.record({ event: 'admin.denied', reason });
  const access = { apiKey, refuse, log };
  const find: Agents['find'] = (agentId) => agents.find(agentId);

  const reasons: unknown[] = [];
  const app = express();
  app.use((_request, response, next) => {
    response.once('close', () => reasons.push(response.reason));
    next();
  });
  app.use(
    '/admin',
    adminRouter({
      ...access,
      issuer: service.rules.issuer,
      knows: service.rules.knows,
      find,
      register: (draft) => registerAgent(service, draft),
      list: (page) => listAgents(service, page),
      update: (agentId, patch) => updateAgent({ ...service, retryPause: async () => undefined }, agentId, patch),
      remove: (agentId) => removeAgent(service, agentId),
      stop: (selection) => stopTasks(service, selection),
      stopEverything: () => stopEverything({ ...service, monotonic: () => performance.now() }),
      findBlocks: (sponsorKey) => storage.sponsors.findBlocks(sponsorKey),
      usersInTheWay: async (sponsorKey) => usersInTheWay(await storage.provisionedUsers.ofPerson(sponsorKey)),
      block: (sponsorKey) => blockSponsor(service, sponsorKey),
      listActs: (question) => listActs({ ...service, operatorActs: storage.operatorActs }, question),
      unblock: (sponsorKey) => unblockSponsor({ ...service, twoPersons: false }, sponsorKey),
      listTasks: (question) => listTasks(service, question),
      showTask: (taskId) => showTask(service, taskId),
      taskTree: undefined,
      presentsPurposes: false,
      presentsAuthorizations: false,
      listBlocks: (question) => listBlocks(service, question),
    }),
  );
  app.use(
    '/audit',
    auditRouter({
      ...access,
      query: (question) => queryLedger(service, question),
      checkpoints: (question) => listCheckpoints({ checkpoints }, question),
      prove: (seq) => proveRecord({ checkpoints, trees, archivedPart, hash: sha256Bytes }, seq),
    }),
  );
  app.use('/agents', agentKeysRouter({ find, log }));

  const server = createServer(app);
  const url = `http://127.0.0.1:${await listen(server)}`;
  const stranger = supertest(url);
  return {
    url,
    storage,
    clock,
    log,
    reasons,
    stranger,
    send(method, path, body) {
      const test = stranger[method](path).set('authorization', `Bearer ${ADMIN_KEY}`);
      return body === undefined ? test : test.set('content-type', 'application/json').send(JSON.stringify(body));
    },
    async raw(text) {
      const received = await sendBytes(url, Buffer.from(text).toString('latin1'));
      return Buffer.from(received.text, 'latin1').toString();
    },
    records: () => allRecords(storage.ledger, clock),
    async seal() {
      const { checkpoints } = storage;
      await sealLedger({ ...reading, checkpoints, chain: chainOf(checkpoints), signer: keys.checkpoints });
    },
    async stop() {
      await closeServer(server);
      await storage.close();
    },
  };
}

async function allRecords(ledger: Ledger, clock: MovedClock) {
  const records: LedgerRecord[] = [];
  let next: Awaited<ReturnType<Ledger['page']>>['next'];
  do {
    const page = await ledger.page({ limit: 1000, now: clock.now(), after: next });
    records.push(...page.records);
    next = page.next;
  } while (next !== undefined);
  return records.map(presentRecord);
}
