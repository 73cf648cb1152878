/**
 * A real OpenID provider on loopback, for tests, the quickstart and the benchmark. People sign in through the real
 * flow. A test can also sign any token, rotate the keys and stop the provider.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import type { Provider } from 'oidc-provider';
import { freePort } from '../../../scripts/free-port.ts';
import { closeServer, listen } from '../listening.ts';
import { makeSigningKey, type SigningAlgorithm, type SigningKey } from '../signing-key.ts';
import { handleInteraction } from './interactions.ts';
import { memoryStorage } from './memory-storage.ts';
import { startGateway } from './misbehaving-gateway.ts';
import type { Oddities } from './oddities.ts';
import { ada, edsger, everyScope, grace, type Person } from './people.ts';
import {
  type ConsoleClient,
  type Demands,
  MACHINE_CLIENT,
  type PageClient,
  POLL_CLIENT_ID,
  type PollClient,
  type ProviderSetup,
  providerConfiguration,
} from './provider-configuration.ts';
import { providerLibrary } from './provider-library.ts';
import { type SignedIn, signIn } from './sign-in.ts';

export interface IdentityProviderOptions {
  /** By default a free port. */
  readonly port?: number;
  /** The `aud` of access tokens, an absolute URI. */
  readonly audience?: string;
  /** The algorithm of access and ID tokens, by default RS256. The provider publishes keys for both algorithms. */
  readonly algorithm?: 'RS256' | 'ES256';
  readonly people?: readonly Person[];
  readonly scopes?: readonly string[];
  /** In seconds. */
  readonly accessTokenLifetime?: number;
  /** The application's endpoint for logout tokens. */
  readonly backchannelLogoutUri?: string;
  /** The client with which people sign in at Mandate's page `/me`. */
  readonly page?: PageClient;
  /** The client with which operators sign in at the console. ID tokens then have the claim `roles` of the person. */
  readonly console?: ConsoleClient;
  /** The client by which Mandate asks about people in mode `poll`. */
  readonly poll?: PollClient;
  /** Puts a gateway before the provider, with these oddities. By default the environment names any (see `ODDITIES`). */
  readonly odd?: Oddities;
  /** Whether a client assertion must have the token endpoint as `aud`, as some providers require. */
  readonly acceptsOnlyTokenEndpoint?: boolean;
  readonly demands?: Demands;
}

interface LogoutDelivery {
  readonly sid: string;
  /** Whether the application answered 200 or 204. */
  readonly delivered: boolean;
}

interface SignInOptions {
  readonly scope?: string;
  readonly password?: string;
  /** The resource to request a token for, by default `audience`. */
  readonly resource?: string;
}

export interface IdentityProvider {
  readonly issuer: string;
  readonly port: number;
  readonly audience: string;
  /** The client of the application: `client_id` of access tokens, `aud` of ID and logout tokens. */
  readonly clientId: string;
  /** The current signing key. */
  signingKey(): SigningKey;
  /** Signs a person in, who consents to `scope`, by default to every scope of the provider. */
  signIn(username: string, options?: SignInOptions): Promise<SignedIn>;
  /** The access token of an application without a person, by client credentials. */
  machineToken(scope: string): Promise<string>;
  /**
   * Signs an access token for Ada like those of `signIn`, without a sign-in. Given claims and header members replace
   * the defaults; `undefined` removes a member. The header's `alg` selects the key.
   */
  mintAccessToken(claims?: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): string;
  /** Signs a logout token without `sub` and `sid`. Given claims and header members replace the defaults. */
  signLogoutToken(claims: Readonly<Record<string, unknown>>, header?: Readonly<Record<string, unknown>>): string;
  /** Makes new keys. The old ones stay published only with `keepFormer`. Sessions continue. */
  rotateKeys(options?: { readonly keepFormer?: boolean }): Promise<void>;
  /** Answers every request in this way, until this is `undefined`. */
  answerInstead(answer: RequestListener | undefined): void;
  /** Stops the server and closes all its connections. */
  goDown(): Promise<void>;
  /** Listens again, on the same port. */
  comeBack(): Promise<void>;
  /** From now on the provider has these oddities, and no others. @throws if it was started without the option `odd` */
  misbehave(odd: Oddities): void;
  /** With the option `odd`: settings of the sponsor check, with the client of the option `poll`. */
  readonly pollSettings: Readonly<Record<string, string>>;
  /** The number of requests for the key set. */
  jwksRequests(): number;
  logoutDeliveries(): readonly LogoutDelivery[];
  stop(): Promise<void>;
}

export const APPLICATION_CLIENT_ID = 'people-desk';
export const DEFAULT_AUDIENCE = 'https://mandate.example';

/**
 * Oddities in JSON, such as `{"kidTwice": true}`. With this environment variable every test of the provider's side runs
 * against them.
 */
const ODDITIES = 'MANDATE_TEST_ODDITIES';

function environmentOddities(): Oddities | undefined {
  const text = process.env[ODDITIES];
  return text === undefined ? undefined : JSON.parse(text);
}

export async function startIdentityProvider(options: IdentityProviderOptions = {}): Promise<IdentityProvider> {
  const { Provider } = await providerLibrary();
  const algorithm = options.algorithm ?? 'RS256';
  const people = options.people ?? [ada, grace, edsger];
  let handler: RequestListener = (_, response) => {
    response.writeHead(503).end();
  };
  let instead: RequestListener | undefined;
  const server = createServer((request, response) => (instead ?? handler)(request, response));
  const port = await listen(server, options.port ?? (await freePort()));
  const odd = options.odd ?? environmentOddities();
  const gateway = odd && (await startGateway(odd, { people, page: options.page, console: options.console }));
  const issuer = gateway?.url ?? `http://127.0.0.1:${port}`;
  const setup: ProviderSetup = {
    issuer,
    audience: options.audience ?? DEFAULT_AUDIENCE,
    scopes: options.scopes ?? everyScope,
    people,
    clientId: APPLICATION_CLIENT_ID,
    redirectUri: `${issuer}/app/signed-in`,
    accessTokenLifetime: options.accessTokenLifetime ?? 3600,
    backchannelLogoutUri: options.backchannelLogoutUri,
    page: options.page,
    console: options.console,
    poll: options.poll,
    assertionAudience: options.acceptsOnlyTokenEndpoint ? `${issuer}/token` : undefined,
    demands: options.demands ?? {},
    storage: memoryStorage(),
    cookieKey: randomBytes(32).toString('base64url'),
  };
  const deliveries: LogoutDelivery[] = [];
  let jwksRequests = 0;
  let keys = await makeKeys();

  function install(published: readonly SigningKey[]): void {
    const provider = new Provider(issuer, providerConfiguration(setup, published, keys[algorithm]));
    recordDeliveries(provider, deliveries);
    const callback = provider.callback();
    handler = (request, response) => {
      if (request.url?.startsWith('/interaction/')) {
        handleInteraction(provider, people, request, response).catch((fault: unknown) => {
          response.writeHead(400, { 'content-type': 'text/plain' }).end(String(fault));
        });
        return;
      }
      if (request.url === '/jwks') {
        jwksRequests += 1;
      }
      callback(request, response);
    };
  }
  install(Object.values(keys));
  gateway?.forwardTo(port, () => keys[algorithm]);

  return {
    issuer,
    port: Number(new URL(issuer).port),
    audience: setup.audience,
    clientId: APPLICATION_CLIENT_ID,
    signingKey: () => keys[algorithm],
    async signIn(username, { scope = setup.scopes.join(' '), password, resource = setup.audience } = {}) {
      const person = people.find((candidate) => candidate.username === username);
      return signIn(
        { ...setup, audience: resource },
        { username, password: password ?? person?.password ?? '' },
        scope,
      );
    },
    async machineToken(scope) {
      const { client_id, client_secret } = MACHINE_CLIENT;
      const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope });
      const answer = await fetch(`${issuer}/token`, { method: 'POST', body });
      const { access_token: token } = (await answer.json()) as { readonly access_token?: string };
      if (token === undefined) throw new Error(`The provider answered ${answer.status} without a token.`);
      return token;
    },
    mintAccessToken(claims = {}, header = {}) {
      const key = header.alg === 'RS256' || header.alg === 'ES256' ? keys[header.alg] : keys[algorithm];
      const usual = usualClaims(setup);
      const token = key.sign({ alg: key.alg, typ: 'at+jwt', kid: key.kid, ...header }, { ...usual, ...claims });
      // A test that names header members makes the token that it needs.
      const isOdd = gateway !== undefined && Object.keys(header).length === 0;
      return isOdd ? gateway.oddToken(token, 'access_token') : token;
    },
    signLogoutToken(claims, header = {}) {
      const key = keys[algorithm];
      const now = Math.floor(Date.now() / 1000);
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
      const usual = { iss: issuer, aud: APPLICATION_CLIENT_ID, jti: randomUUID(), iat: now, exp: now + 120, events };
      return key.sign({ alg: key.alg, typ: 'logout+jwt', kid: key.kid, ...header }, { ...usual, ...claims });
    },
    async rotateKeys({ keepFormer = false } = {}) {
      const former = Object.values(keys);
      keys = await makeKeys();
      install([...Object.values(keys), ...(keepFormer ? former : [])]);
      await gateway?.rotateKeys();
    },
    answerInstead(answer) {
      instead = answer;
    },
    goDown: () => gateway?.close() ?? closeServer(server),
    async comeBack() {
      await (gateway?.reopen() ?? listen(server, port));
    },
    misbehave(next) {
      if (gateway === undefined) throw new Error('The provider was started without the option `odd`.');
      gateway.misbehave(next);
    },
    pollSettings: {
      'Service:UpstreamIdp:SponsorCheck:Mode': 'poll',
      'Service:UpstreamIdp:SponsorCheck:UsersUrl': `${issuer}/users`,
      'Service:UpstreamIdp:SponsorCheck:TokenUrl': `${issuer}/token`,
      'Service:UpstreamIdp:SponsorCheck:ClientId': POLL_CLIENT_ID,
    },
    jwksRequests: () => jwksRequests,
    logoutDeliveries: () => deliveries,
    async stop() {
      await gateway?.close();
      await closeServer(server);
    },
  };
}

async function makeKeys(): Promise<Readonly<Record<'RS256' | 'ES256', SigningKey>>> {
  const make = (alg: SigningAlgorithm) => makeSigningKey(alg);
  const [RS256, ES256] = await Promise.all([make('RS256'), make('ES256')]);
  return { RS256, ES256 };
}

function usualClaims(setup: ProviderSetup): Record<string, unknown> {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: setup.issuer,
    aud: setup.audience,
    sub: ada.username,
    client_id: setup.clientId,
    scope: ada.scopes.join(' '),
    sid: 'session-of-a-minted-token',
    jti: randomUUID(),
    iat: now,
    exp: now + setup.accessTokenLifetime,
  };
}

function recordDeliveries(provider: Provider, deliveries: LogoutDelivery[]): void {
  provider.on('backchannel.success', (_ctx, _client, _accountId, sid) => {
    deliveries.push({ sid, delivered: true });
  });
  provider.on('backchannel.error', (_ctx, _error, _client, _accountId, sid) => {
    deliveries.push({ sid, delivered: false });
  });
}
