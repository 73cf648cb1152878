/**
 * Better Auth with its OAuth provider, on https at loopback, with SQLite in memory. It runs in a thread,
 * because it fetches key sets and sends logout tokens with the global `fetch`, and refuses addresses that are not public.
 * Its clients are registered with a public name of Mandate. The `fetch` of this thread maps that name to loopback, as the
 * name service and the TLS proxy in front of Mandate would do.
 */

import https from 'node:https';
import { parentPort, workerData } from 'node:worker_threads';
import { oauthProvider } from '@better-auth/oauth-provider';
import { type BetterAuthOptions, type BetterAuthPlugin, betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { jwt } from 'better-auth/plugins';
import Database from 'better-sqlite3';
import { listen } from '../../listening.ts';
import { emailOf, pages } from './pages.ts';
import { type BetterAuthReady, type BetterAuthSetup, type KeyChange, POLL_SCOPE } from './setup.ts';

const { port, certificate, audience, scopes, people, mandate, consoleOrigin, redirectUri } =
  workerData as BetterAuthSetup;
const { fetch: fetchFromAddress } = globalThis;
globalThis.fetch = (input, init) => fetchFromAddress(String(input).replace(mandate.name, mandate.address), init);

const origin = `https://127.0.0.1:${port}`;
const database = new Database(':memory:');
const provider = oauthProvider({
  loginPage: `${origin}/sign-in`,
  consentPage: `${origin}/consent`,
  scopes: ['openid', 'offline_access', POLL_SCOPE, ...scopes],
  resources: [audience],
  enforcePerClientResources: false,
  // Without this, Better Auth refuses to register scopes for client credentials.
  clientPrivileges: () => true,
  customIdTokenClaims: ({ user }) => ({ ...people.find((person) => emailOf(person) === user.email)?.claims }),
});
const options: BetterAuthOptions = {
  database,
  baseURL: origin,
  secret: 'a secret of the tests 8Y1pxVvG3qNd5sKf',
  emailAndPassword: { enabled: true },
  trustedOrigins: [mandate.name],
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
  plugins: [
    jwt({ disableSettingJwtHeader: true }),
    // Its types are not written for exactOptionalPropertyTypes.
    provider as unknown as BetterAuthPlugin,
  ],
};

// The constructor reads the tables.
await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
const subjects = Object.fromEntries(
  await Promise.all(people.map(async (person) => [person.username, (await signUp(person)).subject])),
);
const clients = await registerClients();
const answerApi = toNodeHandler(auth);
const answerPage = pages({ origin, people, betterAuth: auth.handler });
const server = https.createServer(certificate, (request, response) => {
  void (request.url?.startsWith('/api/') ? answerApi : answerPage)(request, response);
});
await listen(server, port);
parentPort?.postMessage({ issuer: `${origin}/api/auth`, clients, subjects } satisfies BetterAuthReady);

parentPort?.on('message', (change: KeyChange) => {
  // An expired key signs no more, but stays published for a month. The next token gets a new key.
  const expire = 'update jwks set "expiresAt" = ? where "expiresAt" is null';
  if (change === 'rotate') database.prepare(expire).run(new Date(Date.now() - 1000).toISOString());
  else database.prepare('delete from jwks').run();
  parentPort?.postMessage('done');
});

async function signUp(person: Pick<BetterAuthSetup['people'][number], 'username' | 'password' | 'name'>) {
  const { password, name } = person;
  const body = { email: emailOf(person), password, name };
  const { response, headers } = await auth.api.signUpEmail({ body, returnHeaders: true });
  return {
    subject: response.user.id,
    cookie: headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; '),
  };
}

/** Only a person who is signed in can register a client. */
async function registerClients(): Promise<BetterAuthReady['clients']> {
  const { cookie } = await signUp({ username: 'operator', password: 'registers-the-clients', name: 'Operator' });
  const logout = {
    backchannel_logout_uri: `${mandate.name}/backchannel-logout`,
    backchannel_logout_session_required: true,
    enable_end_session: true,
  };
  const byKey = {
    // Better Auth accepts a redirect URI on loopback only for a native client.
    application_type: 'native',
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: `${mandate.name}/.well-known/jwks.json`,
  } as const;
  const { adminCreateOAuthClient } = auth.api as unknown as typeof provider.endpoints;
  const register = async (
    client: NonNullable<Parameters<typeof adminCreateOAuthClient>[0]>['body'],
  ): Promise<string> => {
    const { client_id } = await adminCreateOAuthClient({ headers: { cookie }, body: { ...logout, ...client } });
    return client_id;
  };
  return {
    application: await register({
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
    }),
    page: await register({ redirect_uris: [`${mandate.address}/me/callback`], ...byKey }),
    authorize: await register({ redirect_uris: [`${mandate.address}/oauth2/authorize/callback`], ...byKey }),
    console: await register({ redirect_uris: [`${consoleOrigin}/callback`], ...byKey }),
    poll: await register({
      ...byKey,
      grant_types: ['client_credentials'],
      response_types: [],
      client_credentials_scopes: [POLL_SCOPE],
    }),
  };
}
