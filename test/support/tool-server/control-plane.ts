/** A fake control plane over real HTTP with a real key. It can send responses that the real service never sends. */

import {
  type AccessEvent,
  createToolServer,
  type ToolServer,
  type ToolServerOptions,
} from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { answering, type Handler, type Loopback, startLoopback } from '../loopback.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';

export const AUDIENCE = 'https://jira.example/api';
export const TASK_ID = 'task_01KAFX9Y2N8M4R7T6W5V3Q1P0Z';
export const TOKEN_ID = 'tok_01KAFX9Y2N8M4R7T6W5V3Q1P0Z';

type Members = Readonly<Record<string, unknown>>;

export interface FakeControlPlane {
  readonly issuer: string;
  /** The key that signs tokens. */
  key: SigningKey;
  /** The keys that the control plane publishes. */
  published: readonly SigningKey[];
  /** The answers to requests for keys and status lists, and for introspection. */
  answerKeys: Handler;
  answerStatus: Handler;
  answerIntrospection: Handler;
  /** The answers to requests for approval. */
  answerApproval: Handler;
  /** A valid token of Ada for the audience. Given members replace the defaults; `undefined` removes one. */
  token(claims?: Members, header?: Members): string;
  /** The number of requests to this path. */
  asked(path: string): number;
  readonly server: Loopback;
  stop(): Promise<void>;
}

/**
 * @param seconds the time at which tokens are issued, in seconds since the epoch
 * @param given the key that signs tokens; by default a new one
 */
export async function startFakeControlPlane(seconds: () => number, given?: SigningKey): Promise<FakeControlPlane> {
  const key = given ?? (await makeSigningKey('ES256'));
  const server = await startLoopback((request, response) => {
    if (request.path === '/.well-known/jwks.json') plane.answerKeys(request, response);
    else if (request.path === '/oauth2/approval') plane.answerApproval(request, response);
    else if (request.path.startsWith('/status/')) plane.answerStatus(request, response);
    else plane.answerIntrospection(request, response);
  });
  const plane: FakeControlPlane = {
    issuer: server.url,
    key,
    published: [key],
    answerKeys: (...call) => answering({ keys: plane.published.map(({ publicJwk }) => publicJwk) })(...call),
    answerStatus: answering({}, 404),
    answerIntrospection: (request, response) => {
      const token = new URLSearchParams(request.body).get('token') ?? '';
      answering({ active: true, ...claimsIn(token) })(request, response);
    },
    answerApproval: answering({ error: 'not_found' }, 404),
    token: (claims = {}, header = {}) =>
      plane.key.sign(
        { alg: 'ES256', typ: 'at+jwt', kid: plane.key.kid, ...header },
        { ...taskTokenMembers(server.url, seconds()), ...claims },
      ),
    asked: (path) => server.received.filter((request) => request.path === path).length,
    server,
    stop: () => server.close(),
  };
  return plane;
}

interface PlaneForEachTest {
  readonly plane: FakeControlPlane;
  /** The access events in the current test. */
  readonly events: AccessEvent[];
  /** A tool server that trusts this control plane and adds its access events to `events`. */
  toolServer(options?: Partial<ToolServerOptions>): ToolServer;
}

/**
 * Starts a fake control plane before each test of the suite, and stops it afterwards.
 * @param seconds the time at which tokens are issued, in seconds since the epoch
 */
export function planeForEachTest(seconds = () => Math.floor(Date.now() / 1000)): PlaneForEachTest {
  let plane: FakeControlPlane;
  let key: SigningKey;
  const events: AccessEvent[] = [];
  before(async () => {
    key = await makeSigningKey('ES256');
  });
  beforeEach(async () => {
    plane = await startFakeControlPlane(seconds, key);
    events.length = 0;
  });
  afterEach(() => plane.stop());
  return {
    get plane() {
      return plane;
    },
    events,
    toolServer: (options = {}) =>
      createToolServer({
        ...(options.issuers === undefined && { issuer: plane.issuer }),
        audience: AUDIENCE,
        onAccess: (event) => void events.push(event),
        ...options,
      } as ToolServerOptions),
  };
}

function taskTokenMembers(issuer: string, now: number): Members {
  return {
    iss: issuer,
    sub: 'ada',
    aud: AUDIENCE,
    exp: now + 240,
    iat: now,
    jti: TOKEN_ID,
    scope: 'jira:read jira:comment',
    client_id: 'agent:triage',
    act: { sub: 'agent:triage', instance: 'pod-7', depth: 1 },
    task: { id: TASK_ID, exp: now + 1200, sponsor: 'ada@example' },
  };
}

function claimsIn(token: string): object {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as object;
}
