/** The whole service over real HTTP, with a real identity provider and database. Tests move its clock. */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { ServerLimits } from '../../adapters/http/server/server.ts';
import { httpNetwork, type NetworkOptions } from '../../adapters/platform/http-network.ts';
import type { Storage } from '../../adapters/storage/storage.ts';
import {
  type AnswerVerdict,
  type ApprovalAnswer,
  answerApproval,
} from '../../application/decisions/answer-approval.ts';
import { placeBlock } from '../../application/decisions/place-block.ts';
import type { TaskApproval } from '../../application/ports/approvals.ts';
import type { Network } from '../../application/ports/network.ts';
import type { Clock, Monotonic } from '../../application/ports/runtime.ts';
import type { Jobs } from '../../composition/recurring.ts';
import { startService } from '../../composition/service.ts';
import { readSettings } from '../../composition/settings/read-settings.ts';
import type { Settings } from '../../composition/settings/settings.ts';
import { variableOf } from '../../composition/settings/startup-error.ts';
import { parseApprovalId, parseSponsorKey } from '../../domain/identifiers.ts';
import { freePort } from '../../scripts/free-port.ts';
import { type AgentKey, makeAgentKey } from './agents/agent-key.ts';
import { type CapturedLog, capturedLog } from './captured-log.ts';
import { connectOutside, type TestDatabase } from './databases.ts';
import { agentIdOf } from './domain-fixtures.ts';
import { type IdentityProvider, startIdentityProvider } from './identity-provider/identity-provider.ts';
import { type KeyServer, startKeyServer } from './key-server.ts';
import { testTrust } from './loopback.ts';
import { type MovedClock, movedClock } from './moved-clock.ts';

export const ADMIN_KEY = 'an-admin-key-that-only-the-tests-know-0123456789';
export const JIRA = 'https://jira.example';
export const WIKI = 'https://wiki.example';

const READY_WITHIN_MS = 10_000;
const POLL_MS = 50;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON body, or an empty object if there is no JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export type Form = Readonly<Record<string, string | undefined>>;

export interface Mandate {
  readonly url: string;
  readonly issuer: string;
  readonly settings: Settings;
  readonly provider: IdentityProvider;
  readonly clock: MovedClock;
  readonly log: CapturedLog;
  /** Publishes the keys of agents that have a `jwks_uri`. */
  readonly keyServer: KeyServer;
  send(path: string, init: RequestInit): Promise<Answer>;
  post(path: string, form: Form, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  admin(method: string, path: string, body?: unknown): Promise<Answer>;
  /** The body of the introspection response. @param token a token, or the response that issued it */
  introspect(token: string | Pick<Answer, 'body'>): Promise<Answer['body']>;
  /** Polls `/readyz` until it answers 200, for at most 10 s: a busy machine may exceed the limit of one check. */
  untilReady(headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Registers an agent with a fresh key. */
  agent(changes?: Readonly<Record<string, unknown>>): Promise<RegisteredAgent>;
  /** All records, oldest first. */
  ledger(): Promise<readonly LedgerLine[]>;
  /** A stored approval, as the row has it. @throws if there is none */
  approval(approvalId: string): Promise<TaskApproval>;
  /** The person of the approval answers it, after reading its words. */
  answer(
    approvalId: string,
    answer: ApprovalAnswer['answer'],
    changes?: Partial<ApprovalAnswer>,
  ): Promise<AnswerVerdict>;
  /** Places an operator's block, which ends the person's tasks. */
  block(sponsorKey: string, kind: 'disabled' | 'deleted'): Promise<void>;
  readonly engine: 'sqlite' | 'postgres';
  /** That of the running service. */
  readonly storage: Pick<Storage, 'decide' | 'agents' | 'authorizations'>;
  /** Runs a statement as the owner of the database, and resolves with its rows. */
  sql(text: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Starts another instance on the same database, with these settings, its own clock and the real network. */
  another(settings: Readonly<Record<string, string>>, provider?: IdentityProvider, times?: Times): Promise<Mandate>;
  /** Runs a recurring job at once. */
  readonly jobs: Jobs;
  /** Resolves with the records that `act` adds. */
  recorded(act: () => Promise<unknown>): Promise<readonly LedgerLine[]>;
  stop(): Promise<void>;
}

export type LedgerLine = Readonly<Record<string, unknown>> & { readonly seq: number };

export interface RegisteredAgent {
  readonly id: string;
  readonly key: AgentKey;
  assertion(claims?: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): string;
  /** The parameters of a valid exchange for Ada. Given ones replace the defaults; `undefined` removes a parameter. */
  exchangeForm(changes?: Form): Form;
  refreshForm(grant: string, changes?: Form): Form;
  revokeForm(token: string, changes?: Form): Form;
  exchange(changes?: Form): Promise<Answer>;
  /** A subject token with these claims, valid for an hour. Without a `sub` it is Ada's. */
  subjectToken(claims?: Readonly<Record<string, unknown>>): string;
  /** Sends an exchange whose subject token has these claims. */
  exchangeFor(claims: Readonly<Record<string, unknown>>, changes?: Form): Promise<Answer>;
  /** Starts a task for Ada. Resolves with its grant. @throws if the exchange is refused */
  grant(): Promise<string>;
  refresh(grant: string, changes?: Form): Promise<Answer>;
  revoke(token: string, changes?: Form): Promise<Answer>;
}

/** The clocks of a service. By default it has its own, with which the database agrees. */
export interface Times {
  readonly clock?: MovedClock;
  /** The clock of Postgres. `undefined`: that of the server. */
  readonly databaseClock?: Clock | undefined;
}

export interface MandateOptions extends Times {
  readonly database: TestDatabase;
  /** For tests that stop the provider or rotate its keys. All other tests share one provider. */
  readonly provider?: IdentityProvider;
  readonly settings?: Readonly<Record<string, string>>;
  /** With `own-address` the issuer is the address at which the service listens, as OAuth clients demand. */
  readonly issuer?: 'own-address';
  /** The path of the issuer, such as `/tenant`. By default it has none. */
  readonly issuerPath?: string;
  readonly timeLimits?: Partial<ServerLimits>;
  /** How host names are resolved, and which addresses are public. */
  readonly network?: NetworkOptions;
  /** Shortens the time limit of each request to another server. */
  readonly requestLimitMs?: number;
}

/** Starts the service on a fresh database. */
export async function startMandate(options: MandateOptions): Promise<Mandate> {
  const provider = options.provider ?? (await commonProvider());
  const keyServer = await startKeyServer();
  const database = await options.database.fresh();
  const port = options.issuer === 'own-address' ? await freePort() : 0;
  const issuer = `${port === 0 ? 'https://mandate.test' : `http://127.0.0.1:${port}`}${options.issuerPath ?? ''}`;
  const mandate = await startOn({
    settings: { 'Service:Issuer': issuer, PORT: String(port), ...database.settings, ...options.settings },
    provider,
    keyServer,
    options,
    sql: async (text) => {
      const outside = await connectOutside(database);
      const rows = await outside.sql(text);
      await outside.close();
      return rows;
    },
  });
  return {
    ...mandate,
    async stop() {
      await mandate.stop();
      await database.drop();
      await keyServer.stop();
    },
  };
}

/**
 * Runs `work` with a service of its test, and then stops the service, also after a failed assertion.
 * @param starting the promise of `startMandate` or of `another`
 */
export async function withService<Result>(
  starting: Promise<Mandate>,
  work: (service: Mandate) => Promise<Result>,
): Promise<Result> {
  const service = await starting;
  try {
    return await work(service);
  } finally {
    await service.stop();
  }
}

let common: Promise<IdentityProvider> | undefined;

/** One provider for this process: making its RSA key takes longer than starting the service. */
function commonProvider(): Promise<IdentityProvider> {
  common ??= startIdentityProvider();
  return common;
}

const shared = new Map<TestDatabase, Promise<Mandate>>();

/**
 * One running service per database, for test files that do not move its clock, change its settings or count all its
 * records. It listens at the address of its issuer until the process ends.
 */
export function sharedMandate(database: TestDatabase): Promise<Mandate> {
  const started = shared.get(database) ?? startShared(database);
  shared.set(database, started);
  return started;
}

async function startShared(database: TestDatabase): Promise<Mandate> {
  const fresh = await database.fresh();
  // Removes the directory of a SQLite file. The end of the test run removes the Postgres server.
  if (database.engine === 'sqlite') process.once('exit', () => void fresh.drop());
  return startMandate({ database: { ...database, fresh: async () => fresh }, issuer: 'own-address' });
}

interface Surroundings {
  readonly settings: Readonly<Record<string, string>>;
  readonly provider: IdentityProvider;
  readonly keyServer: KeyServer;
  readonly sql: Mandate['sql'];
  readonly options: Pick<MandateOptions, 'database' | 'timeLimits' | 'network' | 'requestLimitMs' | keyof Times>;
}

/** The system's monotonic clock has fractions of a microsecond, which no instant has. */
function finely(monotonic: Monotonic): Monotonic {
  let readings = 0;
  return () => {
    readings += 1;
    return monotonic() + readings * 0.000_3;
  };
}

async function startOn(surroundings: Surroundings): Promise<Mandate> {
  const { settings: given, provider, keyServer, sql, options } = surroundings;
  const { clock = movedClock() } = options;
  const databaseClock = 'databaseClock' in options ? options.databaseClock : clock;
  const log = capturedLog();
  const everything: Readonly<Record<string, string>> = {
    'Service:UpstreamIdp:Issuer': provider.issuer,
    'Service:UpstreamIdp:Audience': provider.audience,
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:Admin:ApiKey': ADMIN_KEY,
    // Longer than any test, because a test runs a job itself when it needs the job.
    'Service:Audit:Checkpoint:Interval': 'PT1H',
    'Service:Audit:DrainInterval': 'PT1H',
    'Service:Tasks:SweepInterval': 'PT1H',
    // All requests of the tests come from one address.
    'Service:RateLimit:Enabled': 'false',
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    ...given,
  };
  const settings = settingsFrom(everything);
  const service = await startService(settings, {
    clock,
    monotonic: finely(clock.monotonic),
    databaseClock,
    log,
    network: hurried(httpNetwork({ secureContext: testTrust, ...options.network }), options.requestLimitMs),
    ...(options.timeLimits && { timeLimits: options.timeLimits }),
  });
  const url = `http://127.0.0.1:${service.port}`;

  const send: Mandate['send'] = (path, init) => sendTo(`${url}${path}`, init);
  const post: Mandate['post'] = (path, form, headers = {}) =>
    send(path, { method: 'POST', body: encodeForm(form), headers: { ...FORM_HEADERS, ...headers } });
  const get: Mandate['get'] = (path, headers = {}) => send(path, { headers });
  const admin: Mandate['admin'] = (method, path, body) =>
    send(path, {
      method,
      headers: {
        authorization: `Bearer ${ADMIN_KEY}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const ledger = () => recordsOf(admin);
  const mandate: Mandate = {
    url,
    settings,
    provider,
    clock,
    log,
    keyServer,
    sql,
    send,
    post,
    get,
    admin,
    ledger,
    issuer: everything['Service:Issuer'] ?? '',
    engine: options.database.engine,
    jobs: service.jobs,
    storage: service.storage,
    introspect: async (token) =>
      (await post('/oauth2/introspect', { token: typeof token === 'string' ? token : tokenIn(token) })).body,
    async untilReady(headers) {
      for (const until = performance.now() + READY_WITHIN_MS; ; await pause(POLL_MS)) {
        const answer = await get('/readyz', headers);
        if (answer.status === 200 || performance.now() > until) return answer;
      }
    },
    agent: (changes = {}) => registerAgent(mandate, changes),
    async recorded(act) {
      // The highest number, not that of the last record: records are ordered by time, and a test may have moved the
      // clock.
      const before = Math.max(0, ...(await ledger()).map((line) => line.seq));
      await act();
      return (await ledger()).filter((line) => line.seq > before);
    },
    async approval(id) {
      const approvalId = parseApprovalId(id);
      const found = approvalId && (await service.storage.approvals.find(approvalId));
      if (found === undefined) throw new Error(`no approval: ${id}`);
      return found.row;
    },
    async answer(id, answer, changes = {}) {
      const { approvalId, taskId, agentId, sponsor, audience, sponsorKey, commitment } = await mandate.approval(id);
      const at = clock.now();
      return service.storage.decide(answerApproval, {
        approvalId,
        about: { taskId, agentId, sponsor, audience },
        sponsorKey,
        answer,
        commitment,
        spend: settings['Service:Approvals:Spend'],
        times: { earliest: at, latest: at },
        at,
        ...changes,
      });
    },
    async block(text, kind) {
      const sponsorKey = parseSponsorKey(text);
      if (sponsorKey === undefined) throw new Error(`not a sponsor key: ${text}`);
      const block = { sponsorKey, source: 'admin', kind, blockedAt: clock.now() } as const;
      await service.storage.decide(placeBlock, { block, reason: 'sponsor_blocked' });
    },
    another: (settings, otherProvider = provider, times = {}) =>
      startOn({
        ...surroundings,
        provider: otherProvider,
        settings: { ...given, PORT: '0', ...settings },
        options: { database: options.database, ...times },
      }),
    stop: () => service.stop(),
  };
  return mandate;
}

function hurried(network: Network, limitMs = Number.POSITIVE_INFINITY): Network {
  return { send: (request) => network.send({ ...request, timeoutMs: Math.min(request.timeoutMs, limitMs) }) };
}

const tokenIn = ({ body }: Pick<Answer, 'body'>): string => String(body.access_token);

export async function sendTo(url: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(url, { redirect: 'manual', ...init });
  const { status, headers } = response;
  if (isStream(headers)) {
    // It does not end by itself.
    await response.body?.cancel();
    return { status, headers, text: '', body: {} };
  }
  const text = await response.text();
  const isJson = /json/.test(headers.get('content-type') ?? '') && text !== '';
  return { status, headers, text, body: isJson ? JSON.parse(text) : {} };
}

function isStream(headers: Headers): boolean {
  return /^text\/event-stream/.test(headers.get('content-type') ?? '');
}

/** Reads the ledger page by page, oldest record first. @param filter more query parameters of `GET /audit` */
export async function recordsOf(admin: Mandate['admin'], filter = ''): Promise<readonly LedgerLine[]> {
  const lines: LedgerLine[] = [];
  let cursor: unknown = null;
  do {
    const page = await admin('GET', `/audit?limit=1000${filter}${cursor === null ? '' : `&cursor=${String(cursor)}`}`);
    if (page.status !== 200) throw new Error(`GET /audit answered ${page.status}`);
    lines.push(...(page.body.records as LedgerLine[]));
    cursor = page.body.next_cursor;
  } while (cursor !== null);
  return lines;
}

/** The values of these fields in each record, in this order. */
export function fieldsOf(lines: readonly LedgerLine[], ...names: readonly string[]): readonly (readonly unknown[])[] {
  return lines.map((line) => names.map((name) => line[name]));
}

/** Reads settings as the service does, from environment variables. */
function settingsFrom(given: Readonly<Record<string, string>>) {
  const result = readSettings({ environment: environmentOf(given), overrides: [] });
  if (result.kind !== 'invalid') return result.settings;
  throw new Error(result.errors.map((error) => `${error.key} ${error.problem}`).join(', '));
}

/** The environment variables of these settings. */
export function environmentOf(settings: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([key, value]) => (value === undefined ? [] : [[variableOf(key), value]])),
  );
}

const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded' };

export function encodeForm(form: Form): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(form)) if (value !== undefined) parameters.append(name, value);
  return parameters.toString();
}

/** A valid body of `POST /admin/agents`, except that it has no keys. */
export function aRegistration(changes: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return {
    agent_id: 'jira-triage',
    display_name: 'Jira triage',
    sponsor_required: true,
    allowed_scopes: ['jira:read', 'jira:comment', 'jira:admin'],
    allowed_audiences: [JIRA, WIKI],
    max_task_ttl: 'PT20M',
    max_token_ttl: 'PT4M',
    max_delegation_depth: 1,
    high_risk_audiences: [WIKI],
    ...changes,
  };
}

export async function registerAgent(
  mandate: Pick<Mandate, 'admin' | 'post' | 'issuer' | 'provider' | 'clock'>,
  changes: Readonly<Record<string, unknown>>,
): Promise<RegisteredAgent> {
  const key = await makeAgentKey();
  const id = agentIdOf(typeof changes.agent_id === 'string' ? changes.agent_id : `agent-${randomUUID()}`);
  const answer = await mandate.admin(
    'POST',
    '/admin/agents',
    aRegistration({ agent_id: id, jwks: key.jwks, ...changes }),
  );
  if (answer.status !== 201) throw new Error(`registering ${id} answered ${answer.status}: ${answer.text}`);

  const assertion: RegisteredAgent['assertion'] = (claims = {}, header = {}) => {
    const now = mandate.clock.seconds();
    return key.signAssertion(id, { aud: mandate.issuer, iat: now, exp: now + 60, ...claims }, header);
  };
  const subjectToken: RegisteredAgent['subjectToken'] = (claims = {}) => {
    const now = mandate.clock.seconds();
    // A clock that stands still falls behind the provider's, by more than the skew on a slow machine.
    const iat = Math.min(now, Math.floor(Date.now() / 1000));
    return mandate.provider.mintAccessToken({ iat, exp: now + 3600, ...claims });
  };
  const exchangeForm: RegisteredAgent['exchangeForm'] = (form = {}) => ({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: subjectToken(),
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    actor_token: assertion(),
    actor_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    resource: JIRA,
    scope: 'jira:read jira:comment',
    ...form,
  });
  const authenticated = () => ({
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    client_assertion: assertion(),
  });
  const refreshForm: RegisteredAgent['refreshForm'] = (grant, form = {}) => ({
    grant_type: 'refresh_token',
    refresh_token: grant,
    resource: JIRA,
    ...authenticated(),
    ...form,
  });
  const revokeForm: RegisteredAgent['revokeForm'] = (token, form = {}) => ({ token, ...authenticated(), ...form });
  const exchange: RegisteredAgent['exchange'] = (form) => mandate.post('/oauth2/token', exchangeForm(form));
  return {
    id,
    key,
    assertion,
    subjectToken,
    exchangeForm,
    refreshForm,
    revokeForm,
    exchange,
    exchangeFor: (claims, form) => exchange({ subject_token: subjectToken(claims), ...form }),
    async grant() {
      const issued = await exchange();
      if (issued.status !== 200) throw new Error(`an exchange answered ${issued.status}: ${issued.text}`);
      return String(issued.body.refresh_token);
    },
    refresh: (grant, form) => mandate.post('/oauth2/token', refreshForm(grant, form)),
    revoke: (token, form) => mandate.post('/oauth2/revoke', revokeForm(token, form)),
  };
}
