/**
 * The whole service as its users meet it: real HTTP on loopback, a real identity provider, a real database. Only time
 * is ours to move.
 */

import { randomUUID } from 'node:crypto';
import type { TimeLimits } from '../../adapters/http/server/server.ts';
import { httpNetwork, type NetworkOptions } from '../../adapters/platform/http-network.ts';
import { placeBlock } from '../../application/decisions/place-block.ts';
import type { Jobs } from '../../composition/recurring.ts';
import { startService } from '../../composition/service.ts';
import { readSettings } from '../../composition/settings/read-settings.ts';
import { variableOf } from '../../composition/startup-error.ts';
import { parseSponsorKey } from '../../domain/identifiers.ts';
import { freePort } from '../../scripts/free-port.ts';
import { type AgentKey, makeAgentKey } from './agents/agent-key.ts';
import { type CapturedLog, capturedLog } from './captured-log.ts';
import type { TestDatabase } from './databases.ts';
import { agentIdOf } from './domain-fixtures.ts';
import { type IdentityProvider, startIdentityProvider } from './identity-provider/identity-provider.ts';
import { type KeyServer, startKeyServer } from './key-server.ts';
import { testAuthority } from './loopback.ts';
import { type MovedClock, movedClock } from './moved-clock.ts';

export const ADMIN_KEY = 'an-admin-key-that-only-the-tests-know-0123456789';
export const JIRA = 'https://jira.example';
export const WIKI = 'https://wiki.example';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The JSON body; an empty object when there is none. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export type Form = Readonly<Record<string, string | undefined>>;

export interface Mandate {
  readonly url: string;
  readonly issuer: string;
  readonly provider: IdentityProvider;
  readonly clock: MovedClock;
  readonly log: CapturedLog;
  /** Where agents that keep their keys at a jwks_uri publish them. */
  readonly keyServer: KeyServer;
  post(path: string, form: Form, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  admin(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Registers an agent with a fresh key. */
  agent(changes?: Readonly<Record<string, unknown>>): Promise<RegisteredAgent>;
  /** Every record so far, oldest first. */
  ledger(): Promise<readonly LedgerLine[]>;
  /** Puts somebody on the list of blocks, which ends their tasks. */
  block(sponsorKey: string, kind: 'disabled' | 'deleted'): Promise<void>;
  readonly engine: 'sqlite' | 'postgres';
  /** Changes the database behind the service's back, as its owner. */
  sql(text: string): Promise<void>;
  /** Another process's worth of the service on the same database, with settings of its own and a clock of its own. */
  another(settings: Readonly<Record<string, string>>, provider?: IdentityProvider): Promise<Mandate>;
  /** What otherwise happens every so often, now. */
  readonly jobs: Jobs;
  /** The records that `act` adds. */
  recorded(act: () => Promise<unknown>): Promise<readonly LedgerLine[]>;
  stop(): Promise<void>;
}

export type LedgerLine = Readonly<Record<string, unknown>> & { readonly seq: number };

export interface RegisteredAgent {
  readonly id: string;
  readonly key: AgentKey;
  assertion(claims?: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): string;
  /** The parameters of a good exchange for Ada; those given replace the usual ones, `undefined` leaves one out. */
  exchangeForm(changes?: Form): Form;
  refreshForm(grant: string, changes?: Form): Form;
  revokeForm(token: string, changes?: Form): Form;
  exchange(changes?: Form): Promise<Answer>;
  refresh(grant: string, changes?: Form): Promise<Answer>;
  revoke(token: string, changes?: Form): Promise<Answer>;
}

export interface MandateOptions {
  readonly database: TestDatabase;
  /** One that a test takes down or gives new keys; all others share one. */
  readonly provider?: IdentityProvider;
  readonly settings?: Readonly<Record<string, string>>;
  /** Where it listens, instead of a name that nobody resolves: for clients that hold the one against the other. */
  readonly issuer?: 'own-address';
  /** The issuer's path, such as `/tenant`; none where it is not said. */
  readonly issuerPath?: string;
  /** How long clients may take; as in life where it is not said. */
  readonly timeLimits?: TimeLimits;
  /** How hosts resolve and which addresses are public, for keys that are fetched from public addresses only. */
  readonly network?: NetworkOptions;
}

/** The service on a fresh database of its own. */
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
    engine: options.database.engine,
    ...(options.timeLimits === undefined ? {} : { timeLimits: options.timeLimits }),
    ...(options.network === undefined ? {} : { network: options.network }),
    sql: async (text) => {
      const outside = await database.outside?.();
      if (outside === undefined) throw new Error('this database can only be reached through the service');
      await outside.sql(text);
      await outside.close();
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

let common: Promise<IdentityProvider> | undefined;

/** One for this process, until it ends: making an RSA key takes longer than starting the service. */
function commonProvider(): Promise<IdentityProvider> {
  common ??= startIdentityProvider();
  return common;
}

const shared = new Map<TestDatabase, Promise<Mandate>>();

/**
 * One running service on each database for the test files of this process that neither move its clock, nor change its
 * settings, nor count the records of its whole ledger. It listens where its issuer says, until the process ends.
 */
export function sharedMandate(database: TestDatabase): Promise<Mandate> {
  const started = shared.get(database) ?? startShared(database);
  shared.set(database, started);
  return started;
}

async function startShared(database: TestDatabase): Promise<Mandate> {
  const fresh = await database.fresh();
  // The directory of a SQLite file. Postgres is thrown away with all its databases.
  if (database.engine === 'sqlite') process.once('exit', () => void fresh.drop());
  return startMandate({ database: { ...database, fresh: async () => fresh }, issuer: 'own-address' });
}

interface Surroundings {
  readonly settings: Readonly<Record<string, string>>;
  readonly provider: IdentityProvider;
  readonly keyServer: KeyServer;
  readonly sql: Mandate['sql'];
  readonly engine: Mandate['engine'];
  readonly timeLimits?: TimeLimits;
  readonly network?: NetworkOptions;
}

async function startOn({
  settings: given,
  provider,
  keyServer,
  sql,
  engine,
  timeLimits,
  network,
}: Surroundings): Promise<Mandate> {
  const clock = movedClock();
  const log = capturedLog();
  const everything: Readonly<Record<string, string>> = {
    'Service:UpstreamIdp:Issuer': provider.issuer,
    'Service:UpstreamIdp:Audience': provider.audience,
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:Admin:ApiKey': ADMIN_KEY,
    // Rarer than any test is long: those about a pass run it when they want it.
    'Service:Audit:Checkpoint:Interval': 'PT1H',
    'Service:Audit:DrainInterval': 'PT1H',
    'Service:Tasks:SweepInterval': 'PT1H',
    // Every suite comes from one address.
    'Service:RateLimit:Enabled': 'false',
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    ...given,
  };
  const service = await startService(settingsFrom(everything), {
    clock,
    log,
    network: httpNetwork({ ca: testAuthority, ...network }),
    ...(timeLimits === undefined ? {} : { timeLimits }),
  });
  const url = `http://127.0.0.1:${service.port}`;

  const send = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(`${url}${path}`, { redirect: 'manual', ...init });
    const text = await response.text();
    const isJson = /json/.test(response.headers.get('content-type') ?? '');
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : {} };
  };
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
  const ledger = async (): Promise<readonly LedgerLine[]> => {
    const lines: LedgerLine[] = [];
    let cursor: unknown = null;
    do {
      const page = await admin('GET', `/audit?limit=1000${cursor === null ? '' : `&cursor=${String(cursor)}`}`);
      if (page.status !== 200) throw new Error(`GET /audit answered ${page.status}`);
      lines.push(...(page.body.records as LedgerLine[]));
      cursor = page.body.next_cursor;
    } while (cursor !== null);
    return lines;
  };
  const mandate: Mandate = {
    url,
    issuer: everything['Service:Issuer'] ?? '',
    provider,
    clock,
    log,
    keyServer,
    sql,
    engine,
    jobs: service.jobs,
    post,
    get,
    admin,
    ledger,
    agent: (changes = {}) => registerAgent(mandate, changes),
    async recorded(act) {
      // Not the last line's: lines are in the order of time, and a test may have moved a clock.
      const before = Math.max(0, ...(await ledger()).map((line) => line.seq));
      await act();
      return (await ledger()).filter((line) => line.seq > before);
    },
    async block(text, kind) {
      const sponsorKey = parseSponsorKey(text);
      if (sponsorKey === undefined) throw new Error(`not a sponsor key: ${text}`);
      const block = { sponsorKey, source: 'admin', kind, blockedAt: clock.now() } as const;
      await service.storage.decide(placeBlock, { block, reason: 'sponsor_blocked' });
    },
    another: (settings, otherProvider = provider) =>
      startOn({ settings: { ...given, PORT: '0', ...settings }, provider: otherProvider, keyServer, sql, engine }),
    stop: () => service.stop(),
  };
  return mandate;
}

/** Settings as the service reads them from its environment. */
function settingsFrom(given: Readonly<Record<string, string>>) {
  const environment = Object.fromEntries(Object.entries(given).map(([key, value]) => [variableOf(key), value]));
  const result = readSettings({ environment, overrides: [] });
  if (result.kind === 'invalid')
    throw new Error(result.errors.map((error) => `${error.key} ${error.problem}`).join(', '));
  return result.settings;
}

const FORM_HEADERS = { 'content-type': 'application/x-www-form-urlencoded' };

export function encodeForm(form: Form): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(form)) if (value !== undefined) parameters.append(name, value);
  return parameters.toString();
}

export async function registerAgent(
  mandate: Pick<Mandate, 'admin' | 'post' | 'issuer' | 'provider' | 'clock'>,
  changes: Readonly<Record<string, unknown>>,
): Promise<RegisteredAgent> {
  const key = await makeAgentKey();
  const id = agentIdOf(typeof changes.agent_id === 'string' ? changes.agent_id : `agent-${randomUUID()}`);
  const answer = await mandate.admin('POST', '/admin/agents', {
    agent_id: id,
    display_name: 'Jira triage',
    sponsor_required: true,
    allowed_scopes: ['jira:read', 'jira:comment', 'jira:admin'],
    allowed_audiences: [JIRA, WIKI],
    max_task_ttl: 'PT20M',
    max_token_ttl: 'PT4M',
    max_delegation_depth: 1,
    high_risk_audiences: [WIKI],
    jwks: key.jwks,
    ...changes,
  });
  if (answer.status !== 201) throw new Error(`registering ${id} answered ${answer.status}: ${answer.text}`);

  const assertion: RegisteredAgent['assertion'] = (claims = {}, header = {}) => {
    const now = mandate.clock.seconds();
    return key.signAssertion(id, { aud: mandate.issuer, iat: now, exp: now + 60, ...claims }, header);
  };
  const exchangeForm: RegisteredAgent['exchangeForm'] = (form = {}) => ({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: mandate.provider.mintAccessToken({ exp: mandate.clock.seconds() + 3600 }),
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
  return {
    id,
    key,
    assertion,
    exchangeForm,
    refreshForm,
    revokeForm,
    exchange: (form) => mandate.post('/oauth2/token', exchangeForm(form)),
    refresh: (grant, form) => mandate.post('/oauth2/token', refreshForm(grant, form)),
    revoke: (token, form) => mandate.post('/oauth2/revoke', revokeForm(token, form)),
  };
}
