/**
 * The configuration of the identity provider. It has one public client (authorization code with PKCE), and one resource
 * server: the service under test. Its access tokens are signed JWTs.
 */

import type {
  AdapterFactory,
  ClientMetadata,
  Configuration,
  JWK,
  KoaContextWithOIDC,
  ResourceServer,
} from 'oidc-provider';
import type { SigningKey } from '../signing-key.ts';
import type { Person } from './people.ts';

export interface ProviderSetup {
  readonly issuer: string;
  readonly audience: string;
  readonly scopes: readonly string[];
  readonly people: readonly Person[];
  readonly clientId: string;
  readonly redirectUri: string;
  /** In seconds. */
  readonly accessTokenLifetime: number;
  readonly backchannelLogoutUri: string | undefined;
  readonly page: PageClient | undefined;
  readonly console: ConsoleClient | undefined;
  readonly poll: PollClient | undefined;
  /** The only `aud` of client assertions that it accepts; `undefined`: its issuer and its token endpoint. */
  readonly assertionAudience: string | undefined;
  readonly demands: Demands;
  readonly storage: AdapterFactory;
  readonly cookieKey: string;
}

/** What the provider demands of the clients of the page and of the console, as providers of the FAPI profiles do. */
export interface Demands {
  /** Pushed authorization requests (RFC 9126). `of_clients`: the metadata does not say so. */
  readonly pushedRequests?: 'of_all' | 'of_clients';
  /** Signed request objects (RFC 9101). */
  readonly signedRequests?: boolean;
  /** Access tokens bound to a key (RFC 9449). */
  readonly dpop?: boolean;
}

/** The clients with which people sign in at Mandate: at the page `/me`, and at `/oauth2/authorize` to start a task. */
export interface PageClient {
  /** The address of Mandate. */
  readonly issuer: string;
  /** By default it authenticates with `private_key_jwt`. */
  readonly secret?: string;
}

export interface ConsoleClient {
  /** The address of Mandate, and of its console. */
  readonly issuer: string;
  readonly origin: string;
  /** By default it authenticates with `private_key_jwt`. */
  readonly secret?: string;
}

/** The client by which Mandate asks about people. It authenticates with `private_key_jwt`. */
export interface PollClient {
  /** The address of Mandate. */
  readonly issuer: string;
}

/** An application that gets access tokens for itself (RFC 6749 §4.4). */
export const MACHINE_CLIENT = {
  client_id: 'nightly-report',
  client_secret: 'the secret of the nightly report',
  token_endpoint_auth_method: 'client_secret_post',
  grant_types: ['client_credentials'],
  redirect_uris: [],
  response_types: [],
} as const satisfies Record<string, unknown>;

export const PAGE_CLIENT_ID = 'mandate-page';
/** Registered together with the client of the page. */
export const AUTHORIZE_CLIENT_ID = 'mandate-authorize';
export const CONSOLE_CLIENT_ID = 'mandate-console';
export const POLL_CLIENT_ID = 'mandate-poll';

/** The provider refuses a client that authenticates in another way than it is registered for. */
function authentication({ issuer, secret }: PageClient) {
  return secret === undefined
    ? { token_endpoint_auth_method: 'private_key_jwt' as const, jwks_uri: `${issuer}/.well-known/jwks.json` }
    : { token_endpoint_auth_method: 'client_secret_post' as const, client_secret: secret };
}

function demanded({ pushedRequests, dpop }: Demands): Partial<ClientMetadata> {
  return {
    ...(pushedRequests === 'of_clients' && { require_pushed_authorization_requests: true }),
    ...(dpop && { dpop_bound_access_tokens: true }),
  };
}

function consoleClient(client: ConsoleClient, alg: SigningKey['alg'], demands: Demands): ClientMetadata {
  const { issuer, origin } = client;
  return {
    ...demanded(demands),
    client_id: CONSOLE_CLIENT_ID,
    redirect_uris: [`${origin}/callback`],
    post_logout_redirect_uris: [`${origin}/signed-out`],
    id_token_signed_response_alg: alg,
    ...authentication(client),
    backchannel_logout_uri: `${issuer}/backchannel-logout`,
    backchannel_logout_session_required: true,
  };
}

function pageClients(client: PageClient, alg: SigningKey['alg'], demands: Demands): readonly ClientMetadata[] {
  const { issuer } = client;
  const both = {
    ...demanded(demands),
    id_token_signed_response_alg: alg,
    ...authentication(client),
    backchannel_logout_uri: `${issuer}/backchannel-logout`,
    backchannel_logout_session_required: true,
  };
  return [
    {
      ...both,
      client_id: PAGE_CLIENT_ID,
      redirect_uris: [`${issuer}/me/callback`],
      post_logout_redirect_uris: [`${issuer}/me/signed-out`],
    },
    { ...both, client_id: AUTHORIZE_CLIENT_ID, redirect_uris: [`${issuer}/oauth2/authorize/callback`] },
  ];
}

function pollClient(client: PollClient): ClientMetadata {
  return {
    client_id: POLL_CLIENT_ID,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    ...authentication(client),
  };
}

/** @param keys published in this order. @param signingKey one of them, for access and ID tokens */
export function providerConfiguration(
  setup: ProviderSetup,
  keys: readonly SigningKey[],
  signingKey: SigningKey,
): Configuration {
  const resourceServer: ResourceServer = {
    scope: setup.scopes.join(' '),
    audience: setup.audience,
    accessTokenTTL: setup.accessTokenLifetime,
    accessTokenFormat: 'jwt',
    jwt: { sign: { alg: signingKey.alg, kid: signingKey.kid } },
  };
  return {
    adapter: setup.storage,
    jwks: { keys: keys.map((key) => asProviderJwk(key)) },
    cookies: { keys: [setup.cookieKey] },
    clients: [
      {
        client_id: setup.clientId,
        redirect_uris: [setup.redirectUri],
        token_endpoint_auth_method: 'none',
        id_token_signed_response_alg: signingKey.alg,
        ...(setup.backchannelLogoutUri === undefined
          ? {}
          : { backchannel_logout_uri: setup.backchannelLogoutUri, backchannel_logout_session_required: true }),
      },
      MACHINE_CLIENT,
      ...(setup.page === undefined ? [] : pageClients(setup.page, signingKey.alg, setup.demands)),
      ...(setup.console === undefined ? [] : [consoleClient(setup.console, signingKey.alg, setup.demands)]),
      ...(setup.poll === undefined ? [] : [pollClient(setup.poll)]),
    ],
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      backchannelLogout: { enabled: true },
      ...(setup.demands.pushedRequests === 'of_all' && {
        pushedAuthorizationRequests: { enabled: true, requirePushedAuthorizationRequests: true },
      }),
      ...(setup.demands.signedRequests && { requestObjects: { enabled: true, requireSignedRequestObject: true } }),
      rpInitiatedLogout: { enabled: true, logoutSource: logoutPage, postLogoutSuccessSource: signedOutPage },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => setup.audience,
        // Each resource that a client names (RFC 8707) is the audience of its own access tokens.
        getResourceServerInfo: (_, resource) => ({ ...resourceServer, audience: resource }),
      },
    },
    assertJwtClientAuthClaimsAndHeader: async (_, { aud }) => {
      const only = setup.assertionAudience;
      if (only !== undefined && aud !== only) throw new Error('the client assertion is for another audience');
    },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    // The ID tokens of the page name the person by `oid` too, as those of some providers do.
    ...((setup.page ?? setup.console) && {
      claims: { openid: ['sub', 'oid', ...(setup.console ? ['roles'] : [])], profile: ['name'], email: [] },
      conformIdTokenClaims: false,
    }),
    pkce: { required: () => true },
    findAccount: (_, subject) => {
      const person = setup.people.find(({ username }) => username === subject);
      return (
        person && {
          accountId: person.username,
          claims: () => ({ sub: person.username, name: person.name, ...person.claims }),
        }
      );
    },
    extraTokenClaims: async (ctx, token) => {
      if (token.kind !== 'AccessToken') {
        return undefined;
      }
      const person = setup.people.find(({ username }) => username === token.accountId);
      const session =
        token.sessionUid === undefined ? undefined : await ctx.oidc.provider.Session.findByUid(token.sessionUid);
      return { ...person?.claims, sid: session?.sidFor(String(token.clientId)), auth_time: session?.loginTs };
    },
    ttl: {
      AccessToken: setup.accessTokenLifetime,
      IdToken: setup.accessTokenLifetime,
      Interaction: SIGN_IN_SECONDS,
      Grant: SESSION_SECONDS,
      Session: SESSION_SECONDS,
    },
    renderError: (ctx, out) => {
      ctx.type = 'text/plain';
      ctx.body = Object.entries(out)
        .map(([key, value]) => `${key}: ${value}`)
        .join('\n');
    },
    // The library's own dispatcher refuses loopback addresses, and its own timeout is too short for a busy machine.
    fetch: (url, init) => {
      const { dispatcher: _, signal: __, ...rest }: RequestInit & { dispatcher?: unknown } = init ?? {};
      return fetch(url, rest);
    },
  };
}

/** How long a sign-in may take. */
const SIGN_IN_SECONDS = 10 * 60;
const SESSION_SECONDS = 24 * 60 * 60;

function asProviderJwk(key: SigningKey): JWK {
  const { kty, crv, x, y, d, e, n, p, q, dp, dq, qi } = key.privateJwk;
  return { kty, crv, x, y, d, e, n, p, q, dp, dq, qi, kid: key.kid, alg: key.alg, use: 'sig' };
}

function logoutPage(ctx: KoaContextWithOIDC, form: string): void {
  ctx.type = 'html';
  ctx.body = `<!doctype html><title>Sign out</title>${form}
<button type="submit" form="op.logoutForm" name="logout" value="yes">Sign out</button>`;
}

function signedOutPage(ctx: KoaContextWithOIDC): void {
  ctx.type = 'html';
  ctx.body = '<!doctype html><title>Signed out</title><p>You are signed out.</p>';
}
