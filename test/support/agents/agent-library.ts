/** The agent library in front of a real service, whose answers a test can replace. */

import { generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto';
import {
  type Agent,
  type AgentClock,
  type AgentKey,
  createAgent,
  type Task,
} from '../../../adapters/sdk/agent/agent.ts';
import { freshDatabase } from '../databases.ts';
import { JIRA, type Mandate, type RegisteredAgent, startMandate } from '../mandate.ts';

/** The registered lifetimes: four minutes for a token, twenty for a task. */
export const TOKEN_MS = 240_000;
export const TASK_MS = 1_200_000;

type Answering = (url: string, init: RequestInit | undefined, pass: () => Promise<Response>) => Promise<Response>;

/** Records the agent's requests. The service answers them, unless a test sets `answer`. */
interface Line {
  readonly fetch: typeof globalThis.fetch;
  readonly sent: { readonly url: string; readonly form: URLSearchParams }[];
  answer: Answering;
}

function line(): Line {
  const sent: Line['sent'] = [];
  const self: Line = {
    sent,
    answer: (_url, _init, pass) => pass(),
    fetch: (input, init) => {
      sent.push({ url: String(input), form: new URLSearchParams(String(init?.body ?? '')) });
      return self.answer(String(input), init, () => fetch(input, init));
    },
  };
  return self;
}

export const busy = (status: number, retryAfter?: string): Response =>
  new Response(JSON.stringify({ error: status === 429 ? 'slow_down' : 'temporarily_unavailable' }), {
    status,
    headers: { 'content-type': 'application/json', ...(retryAfter === undefined ? {} : { 'retry-after': retryAfter }) },
  });

/** The answer to a renewal of this task, made without the service and its clock. */
export const renewed = (token: string, task?: Task): Response =>
  refusing(200, {
    access_token: token,
    refresh_token: 'task_grant_b',
    token_type: 'Bearer',
    expires_in: TOKEN_MS / 1000,
    scope: 'jira:read',
    task_id: task?.id ?? 'task_a',
    task_expires_at: task?.expiresAt.toISOString() ?? '2031-01-01T00:00:00Z',
  });

export const refusing = (status: number, body: object): Response => new Response(JSON.stringify(body), { status });

export const pemOf = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

interface Library {
  mandate: Mandate;
  registered: RegisteredAgent;
  pem: string;
  agent: Agent;
  requests: Line;
  /** How long the library waited. */
  slept: number[];
  clock: AgentClock;
}

export function libraryForSuite() {
  const library = {} as Library;

  before(async () => {
    library.mandate = await startMandate({
      database: { name: 'SQLite', engine: 'sqlite', fresh: () => freshDatabase('sqlite') },
    });
    // Tests compare times of the library and of the service, which are whole seconds.
    library.mandate.clock.standStill();
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    library.pem = pemOf(privateKey);
    const jwks = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' }] };
    library.registered = await library.mandate.agent({ jwks });
  });
  after(() => library.mandate.stop());

  beforeEach(() => {
    library.requests = line();
    library.slept = [];
    library.clock = {
      now: () => library.mandate.clock.seconds() * 1000,
      // Moves the clock of the service instead of waiting.
      sleep: async (ms) => {
        library.slept.push(ms);
        library.mandate.clock.advance(Math.ceil(ms / 1000));
      },
      random: () => 0.5,
    };
    library.agent = made({ pem: library.pem });
  });

  const made = (key: AgentKey, changes: object = {}) =>
    createAgent({
      issuer: library.mandate.issuer,
      agentId: library.registered.id,
      key,
      fetch: toService,
      clock: library.clock,
      ...changes,
    });
  /** The issuer of the test service is only a name; this is the address that it listens on. */
  const toService: typeof globalThis.fetch = (input, init) =>
    library.requests.fetch(String(input).replace(library.mandate.issuer, library.mandate.url), init);
  const start = (scope: readonly string[] = ['jira:read', 'jira:comment'], from = library.agent) =>
    from.startTask({
      subjectToken: library.registered.subjectToken({ exp: library.mandate.clock.seconds() + 7200 }),
      resource: JIRA,
      scope,
    });
  /** A task of an agent whose clock is `now`. */
  const startWith = (now: () => number) =>
    start(['jira:read'], made({ pem: library.pem }, { clock: { ...library.clock, now } }));
  const sign = (input: Uint8Array) => signBytes('sha256', input, { key: library.pem, dsaEncoding: 'ieee-p1363' });
  const advance = (ms: number) => library.mandate.clock.advance(ms / 1000);
  const activity = async (token: string) => (await library.mandate.post('/oauth2/introspect', { token })).body;
  const renewals = () => library.requests.sent.filter(({ form }) => form.get('grant_type') === 'refresh_token');

  return Object.assign(library, { made, start, startWith, sign, advance, activity, renewals });
}
