/**
 * A gateway that lets the real provider behind it misbehave as other providers do. A test turns oddities on and off while
 * it runs. The gateway also has a users service, as Keycloak has, for the sponsor check.
 */

import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { answering, type Handler, type Loopback, startLoopback } from '../loopback.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';
import { type Endpoint, type Oddities, type OddKeys, oddKeys, oddMetadata, oddToken } from './oddities.ts';
import type { Person } from './people.ts';
import {
  AUTHORIZE_CLIENT_ID,
  CONSOLE_CLIENT_ID,
  type ConsoleClient,
  PAGE_CLIENT_ID,
  type PageClient,
  POLL_CLIENT_ID,
} from './provider-configuration.ts';

export interface Gateway extends Pick<Loopback, 'url' | 'received' | 'close' | 'reopen'> {
  /** From now on the provider has these oddities, and no others. */
  misbehave(odd: Oddities): void;
  /** Forwards to the provider that listens at this port. @param signingKey its own key */
  forwardTo(port: number, signingKey: () => SigningKey): void;
  /** The same token, with the oddities. */
  oddToken(token: string, kind: 'access_token' | 'id_token'): string;
  /** Makes the keys anew that the provider itself does not have. */
  rotateKeys(): Promise<void>;
}

type Request = Parameters<Handler>[0];

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  '/.well-known/openid-configuration': 'metadata',
  '/jwks': 'keys',
  '/auth': 'authorization',
  '/token': 'token',
  '/session/end': 'sign_out',
};
const MANDATE: readonly (string | null)[] = [PAGE_CLIENT_ID, AUTHORIZE_CLIENT_ID, CONSOLE_CLIENT_ID, POLL_CLIENT_ID];
/** The User-Agent of a test's own browser or application. Oddities of the transport are for Mandate alone. */
const OF_TESTS = /^(node|openid-client|oauth4webapi)\b/;
/** Some readers try at most sixteen keys. */
const IDLE_KEYS = 20;

interface Clients {
  readonly people: readonly Person[];
  readonly page: PageClient | undefined;
  readonly console: ConsoleClient | undefined;
}

export async function startGateway(first: Oddities, { people, page, console }: Clients): Promise<Gateway> {
  let odd = first;
  let keys = await makeOddKeys();
  let behind: { readonly port: number; readonly signingKey: () => SigningKey } | undefined;
  const gateway = await startLoopback((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  const secrets = new Map<string | null, string | undefined>([
    [PAGE_CLIENT_ID, page?.secret],
    [AUTHORIZE_CLIENT_ID, page?.secret],
    [CONSOLE_CLIENT_ID, console?.secret],
  ]);
  const codes = new Set<string | null>();
  const tokens = new Set<unknown>();

  async function handle(request: Request, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.path, gateway.url);
    const endpoint = pathname.startsWith('/users/') ? 'users' : ENDPOINTS[pathname];
    const earlier = gateway.received.filter(({ connection }) => connection === request.connection);
    const isForTest = OF_TESTS.test(String(request.headers['user-agent']));
    if (odd.connectionsBreak && !isForTest && earlier.length > 1) return void response.destroy();
    if (odd.demandsUserAgent && request.headers['user-agent'] === undefined) {
      return void response.writeHead(403, { 'content-type': 'text/html' }).end('<h1>Forbidden</h1>');
    }
    const other = endpoint && odd.answers?.[endpoint];
    if (other !== undefined) return other(request, response);
    if (endpoint === 'users') return answerAboutUser(request, response);
    if (endpoint === 'sign_out' && odd.blankSignOut) return void response.writeHead(200).end();
    const refusal = endpoint === 'token' ? refusalOf(request) : undefined;
    const answer = refusal ?? (await forward(behind?.port ?? 0, withSecretInForm(request)));
    send(response, changed(answer, endpoint, isForTest));
  }

  function answerAboutUser({ path, headers }: Request, response: ServerResponse): void {
    const [, , id = '', more] = path.split('/').map(decodeURIComponent);
    const isKnown = people.some(({ username }) => username === id);
    const answer = isKnown ? { id, enabled: true } : { error: 'User not found' };
    if (!tokens.has(String(headers.authorization).replace(/^Bearer /, ''))) answering({}, 401)({} as never, response);
    else if (more !== undefined) answering({ error: 'HTTP 404 Not Found' }, 404)({} as never, response);
    else answering(answer, isKnown ? 200 : 404)({} as never, response);
  }

  /** The gateway's own answer to a token request. */
  function refusalOf({ headers, body }: Request): Answer | undefined {
    const form = new URLSearchParams(body);
    const basic = basicOf(headers);
    const client = form.get('client_id') ?? basic?.clientId ?? null;
    const isCode = form.get('grant_type') === 'authorization_code';
    if (odd.codeFirst && isCode && !codes.has(form.get('code'))) return problem(400, 'invalid_grant');
    if (odd.refusesMandate !== undefined && MANDATE.includes(client)) {
      if (odd.refusesMandate === 'invalid_client') return problem(401, 'invalid_client');
      return { status: odd.refusesMandate, headers: {}, text: '' };
    }
    const secret = secrets.get(client);
    const isRight = secret === undefined || (client === basic?.clientId && secret === basic?.secret);
    if (odd.basicAsSent && !isRight) return problem(401, 'invalid_client');
    const isBare = form.get('grant_type') === 'client_credentials' && !form.has('scope');
    return odd.demandsScope && isBare ? problem(400, 'invalid_scope') : undefined;
  }

  /** The provider's clients are registered with their secret in the form. */
  function withSecretInForm(request: Request): Request {
    const basic = basicOf(request.headers);
    if (!odd.basicAsSent || basic === undefined) return request;
    const { authorization: _, ...headers } = request.headers;
    const form = new URLSearchParams(request.body);
    form.set('client_id', basic.clientId);
    form.set('client_secret', basic.secret);
    return { ...request, headers, body: form.toString() };
  }

  function changed(answer: Answer, endpoint: Endpoint | undefined, isForTest: boolean): Answer {
    const { location } = answer.headers;
    if (location !== undefined && URL.canParse(location)) codes.add(new URL(location).searchParams.get('code'));
    if (endpoint !== 'metadata' && endpoint !== 'keys' && endpoint !== 'token') return answer;
    if (answer.text === '') return answer;
    const document = JSON.parse(answer.text) as Record<string, unknown>;
    if (answer.status !== 200) return odd.ownErrors ? withOwnError(answer, document.error) : answer;
    return {
      status: odd.status203 && !isForTest ? 203 : 200,
      headers: {
        ...answer.headers,
        ...(odd.contentEncoding === undefined ? {} : { 'content-encoding': odd.contentEncoding }),
      },
      text: JSON.stringify(changedDocument(document, endpoint)),
    };
  }

  function changedDocument(document: Record<string, unknown>, endpoint: 'metadata' | 'keys' | 'token') {
    if (endpoint === 'metadata') return oddMetadata(document, odd);
    if (endpoint === 'keys') return { keys: oddKeys(document.keys as [], odd, keys) };
    const { access_token: access, id_token: id, expires_in: lifetime } = document;
    const token = isJwt(access) ? oddTokenNow(access, 'access_token') : access;
    tokens.add(token);
    return {
      ...document,
      access_token: token,
      ...(isJwt(id) && { id_token: oddTokenNow(id, 'id_token') }),
      ...(odd.expiresInText && { expires_in: String(lifetime) }),
    };
  }

  function oddTokenNow(token: string, kind: 'access_token' | 'id_token'): string {
    return behind === undefined
      ? token
      : oddToken(token, kind, odd, { signingKey: behind.signingKey(), ed25519: keys.ed25519 });
  }

  return {
    ...gateway,
    misbehave(next) {
      odd = next;
    },
    forwardTo(port, signingKey) {
      behind = { port, signingKey };
    },
    oddToken: oddTokenNow,
    async rotateKeys() {
      keys = { ...keys, ed25519: await makeSigningKey('Ed25519') };
    },
  };
}

async function makeOddKeys(): Promise<OddKeys> {
  const idle = await Promise.all(Array.from({ length: IDLE_KEYS }, () => makeSigningKey('ES256')));
  return { ed25519: await makeSigningKey('Ed25519'), idle: idle.map(({ publicJwk }: SigningKey) => publicJwk) };
}

function basicOf(headers: Request['headers']): { readonly clientId: string; readonly secret: string } | undefined {
  const [, encoded] = /^Basic (.+)$/.exec(String(headers.authorization)) ?? [];
  if (encoded === undefined) return undefined;
  const [clientId = '', ...secret] = Buffer.from(encoded, 'base64').toString().split(':');
  return { clientId, secret: secret.join(':') };
}

const isJwt = (token: unknown): token is string => typeof token === 'string' && token.split('.').length === 3;

function problem(status: number, error: string): Answer {
  return { status, headers: { 'content-type': 'application/json' }, text: JSON.stringify({ error }) };
}

function withOwnError(answer: Answer, error: unknown): Answer {
  if (error === 'invalid_client') return { status: 403, headers: {}, text: '' };
  return error === 'invalid_grant' ? problem(403, 'invalid_code') : answer;
}

/** Forwards with the same `Host`, by which the provider names its addresses. */
async function forward(port: number, { method, path, headers, body }: Request): Promise<Answer> {
  const { connection: _, 'transfer-encoding': __, ...kept } = headers as IncomingHttpHeaders;
  const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const sent = http.request({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    headers: { ...kept, ...length },
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [http.IncomingMessage];
  const text = Buffer.concat(await answer.toArray()).toString();
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}

function send(response: ServerResponse, { status, headers, text }: Answer): void {
  const { connection: _, 'transfer-encoding': __, 'content-length': ___, ...kept } = headers;
  response.writeHead(status, kept).end(text);
}
