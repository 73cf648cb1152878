// Better Auth 1.7.5 as an OpenID provider for a trial on one machine: plain HTTP on loopback, a SQLite file, one person.
// The first start makes the person and four clients: portal (the application), mandate-page, mandate-authorize and mandate-console.
//
//     node server.mjs

import { timingSafeEqual } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { oauthProvider } from '@better-auth/oauth-provider';
import { betterAuth } from 'better-auth';
import { getMigrations } from 'better-auth/db/migration';
import { toNodeHandler } from 'better-auth/node';
import { jwt } from 'better-auth/plugins';
import Database from 'better-sqlite3';

const {
  PROVIDER = 'http://127.0.0.1:4600',
  MANDATE = 'http://127.0.0.1:5100',
  CONSOLE = 'http://127.0.0.1:5600',
  USERS_BEARER_TOKEN,
} = process.env;
const RETURN_TO_PORTAL = 'https://portal.example/signed-in';
const AGENT_SCOPES = ['jira:read', 'jira:comment'];
const ADA = { email: 'ada@people.example', password: 'notes-on-the-engine', name: 'Ada Lovelace' };
const SCOPES_OF = { [ADA.email]: ['jira:read'] };
const ROLES_OF = { [ADA.email]: ['mandate-viewer', 'mandate-responder'] };

// Better Auth fetches key sets and sends logout tokens only by https, to hosts that are neither loopback nor private. On
// one machine this takes the place of a name service and of a proxy with TLS in front of Mandate.
const MANDATE_BY_NAME = 'https://mandate.example';
const { fetch: fetchFromAddress } = globalThis;
globalThis.fetch = (input, init) => fetchFromAddress(String(input).replace(MANDATE_BY_NAME, MANDATE), init);

const isSetUp = existsSync('provider.db');
const database = new Database('provider.db');
/** The ids of the clients that are registered next. Without this, Better Auth makes up random ones. */
const clientIds = ['portal', 'mandate-page', 'mandate-authorize', 'mandate-console'];
const options = {
  database,
  baseURL: PROVIDER,
  secret: 'a secret for a trial, never for people',
  emailAndPassword: { enabled: true },
  trustedOrigins: [MANDATE_BY_NAME],
  telemetry: { enabled: false },
  // Its warnings are about columns that its own migrations made.
  logger: { level: 'error' },
  plugins: [
    jwt({ disableSettingJwtHeader: true }),
    oauthProvider({
      loginPage: `${PROVIDER}/sign-in`,
      consentPage: `${PROVIDER}/consent`,
      scopes: ['openid', 'offline_access', ...AGENT_SCOPES],
      // An application that requests resource=<Mandate> gets access tokens for it.
      resources: [MANDATE],
      enforcePerClientResources: false,
      generateClientId: () => clientIds.shift(),
      customIdTokenClaims: ({ user }) => ({ roles: ROLES_OF[user.email] ?? [] }),
    }),
  ],
};
// Before betterAuth(), which reads the tables.
await (await getMigrations(options)).runMigrations();
const auth = betterAuth(options);
if (!isSetUp) await setUp();

const answerApi = toNodeHandler(auth);
createServer((request, response) => {
  const { pathname } = new URL(request.url, PROVIDER);
  if (pathname.startsWith('/api/')) answerApi(request, response);
  else if (pathname.startsWith('/users/')) answerUser(request, response, pathname.slice('/users/'.length));
  else answerPage(request, response).catch(() => response.writeHead(400).end('That did not work.'));
}).listen(Number(new URL(PROVIDER).port), '127.0.0.1', () => console.log(`The issuer is ${PROVIDER}/api/auth.`));

/** The person, and the clients, which a signed-in person registers. */
async function setUp() {
  const { headers } = await auth.api.signUpEmail({ body: ADA, returnHeaders: true });
  const cookie = cookiesOf(headers);
  const logout = {
    backchannel_logout_uri: `${MANDATE_BY_NAME}/backchannel-logout`,
    backchannel_logout_session_required: true,
  };
  const byKey = {
    // Better Auth accepts a redirect URI on loopback only from a native client.
    application_type: 'native',
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: `${MANDATE_BY_NAME}/.well-known/jwks.json`,
    enable_end_session: true,
    ...logout,
  };
  const register = (body) => auth.api.adminCreateOAuthClient({ headers: { cookie }, body });
  await register({
    client_name: 'Portal',
    redirect_uris: [RETURN_TO_PORTAL],
    token_endpoint_auth_method: 'none',
    // Without refresh tokens Better Auth does not store which client has the session, and sends no logout token.
    grant_types: ['authorization_code', 'refresh_token'],
    ...logout,
  });
  await register({
    client_name: 'Your agents',
    redirect_uris: [`${MANDATE}/me/callback`],
    post_logout_redirect_uris: [`${MANDATE}/me/signed-out`],
    ...byKey,
  });
  await register({
    client_name: 'Programs that ask you',
    redirect_uris: [`${MANDATE}/oauth2/authorize/callback`],
    ...byKey,
  });
  await register({
    client_name: "Mandate's console",
    redirect_uris: [`${CONSOLE}/callback`],
    post_logout_redirect_uris: [`${CONSOLE}/signed-out`],
    ...byKey,
  });
}

/** The pages that Better Auth leaves to the application: the sign-in, and the question whether a client gets its scopes. */
async function answerPage(request, response) {
  const { pathname, search } = new URL(request.url, PROVIDER);
  // Better Auth signs this query, and expects it back.
  const oauth_query = search.slice(1);
  const cookie = request.headers.cookie ?? '';
  if (!['/sign-in', '/consent'].includes(pathname)) return response.writeHead(404).end();
  if (request.method === 'GET') return showForm(response, pathname);
  const form = new URLSearchParams(await text(request));
  const answer =
    pathname === '/sign-in'
      ? await send('/sign-in/email', cookie, { email: form.get('email'), password: form.get('password'), oauth_query })
      : await send('/oauth2/consent', cookie, { accept: true, scope: await held(oauth_query, cookie), oauth_query });
  const { url } = await answer.json();
  if (url === undefined) return response.writeHead(answer.status).end('That did not work.');
  response.writeHead(303, { location: url, 'set-cookie': answer.headers.getSetCookie() }).end();
}

/**
 * The requested scopes without those of agents that the person does not hold. Better Auth itself grants every scope that
 * it knows and the person agrees to: without this, a person's scopes bound nothing.
 */
async function held(query, cookie) {
  const { user } = await auth.api.getSession({ headers: new Headers({ cookie }) });
  const requested = new URLSearchParams(query).get('scope')?.split(' ') ?? [];
  const isHeld = (scope) => !AGENT_SCOPES.includes(scope) || SCOPES_OF[user.email]?.includes(scope);
  return requested.filter(isHeld).join(' ');
}

function send(path, cookie, body) {
  return auth.handler(
    new Request(`${PROVIDER}/api/auth${path}`, {
      method: 'POST',
      headers: { origin: PROVIDER, cookie, accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  );
}

function cookiesOf(headers) {
  const pairs = headers.getSetCookie().map((line) => line.split(';')[0]);
  return pairs.join('; ');
}

function showForm(response, pathname) {
  const fields =
    pathname === '/sign-in'
      ? `<label>Email <input name="email"></label> <label>Password <input name="password" type="password"></label>
<button>Sign in</button>`
      : '<p>May the application act for you?</p><button>Agree</button>';
  const page = `<!doctype html><title>Provider</title><form method="post">${fields}</form>`;
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(page);
}

/** The users service for the mode poll: a person is enabled as long as Better Auth has them. */
function answerUser(request, response, sub) {
  const answer = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const sent = Buffer.from(request.headers.authorization ?? '');
  const expected = Buffer.from(`Bearer ${USERS_BEARER_TOKEN}`);
  if (!USERS_BEARER_TOKEN || sent.length !== expected.length || !timingSafeEqual(sent, expected))
    return answer(401, {});
  if (sub === '' || sub.includes('/')) return answer(400, {});
  const person = database.prepare('select id from user where id = ?').get(sub);
  return person === undefined ? answer(404, {}) : answer(200, { id: sub, enabled: true });
}
