/** A running Mandate whose people and operators sign in at Glewlwyd. */

import { freePort } from '../../../scripts/free-port.ts';
import { operators } from '../console/operators-browser.ts';
import type { TestDatabase } from '../databases.ts';
import { ADMIN_KEY, type Mandate, startMandate } from '../mandate.ts';
import { OPERATORS } from '../operators.ts';
import { sharedSigningKey } from '../shared-signing-key.ts';
import type { Browser } from './browser.ts';
import { type Glewlwyd, startGlewlwyd } from './glewlwyd.ts';
import { type AtGlewlwyd, signInAtGlewlwyd, signOutOfGlewlwyd } from './glewlwyd-sign-in.ts';
import { ada, edsger, grace, type Person } from './people.ts';
import { CONSOLE_CLIENT_ID, MACHINE_CLIENT, PAGE_CLIENT_ID } from './provider-configuration.ts';

/** The client of the application, with which people sign in. */
export const PORTAL = 'portal';
/** The client with which Mandate gets the token for the users service. */
export const SERVICE_CLIENT = 'mandate';

const PORTAL_RETURN = 'https://portal.example/signed-in';
const AUDIENCE = 'https://mandate.example';

export interface WithGlewlwyd {
  readonly glewlwyd: Glewlwyd;
  readonly mandate: Mandate;
  /** The settings of that service, for doctor. */
  readonly settings: Readonly<Record<string, string>>;
  /** `Service:Console:Origin`. */
  readonly origin: string;
  /** Signs in at the application, which requests `jira:read` and `jira:comment`. */
  signIn(person: Person): Promise<AtGlewlwyd>;
  /** The access token of an application without a person, for Mandate. */
  machineToken(): Promise<string>;
  signOut(browser: Browser): Promise<void>;
  stop(): Promise<void>;
}

export async function startWithGlewlwyd(kind: TestDatabase): Promise<WithGlewlwyd> {
  const [port, consolePort] = [await freePort(), await freePort()];
  const [issuer, origin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${consolePort}`];
  const glewlwyd = await startGlewlwyd({
    audience: AUDIENCE,
    scopes: ['jira:read', 'jira:comment', 'users:read'],
    people: [ada, grace, edsger, operators.viewer, operators.none],
    clients: clients(issuer, origin),
  });
  const database = await kind.fresh();
  const settings = {
    ...{ ...database.settings, ...sharedSigningKey(), ...OPERATORS },
    ...{ NODE_ENV: 'development', HOST: '127.0.0.1', PORT: String(port) },
    'Service:Issuer': issuer,
    'Service:Admin:ApiKey': ADMIN_KEY,
    'Service:UpstreamIdp:Issuer': glewlwyd.issuer,
    'Service:UpstreamIdp:Audience': AUDIENCE,
    'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint',
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:UpstreamIdp:BackchannelLogout:Audience': PORTAL,
    'Service:Scim:BearerToken': 'a-provisioning-credential-for-glewlwyd-01',
    'Service:Me:ClientId': PAGE_CLIENT_ID,
    'Service:Operators:ClientId': CONSOLE_CLIENT_ID,
    'Service:Console:Port': String(consolePort),
    'Service:Console:Origin': origin,
  };
  const mandate = await startMandate({ database: { ...kind, fresh: async () => database }, settings });
  const application = { issuer: glewlwyd.issuer, clientId: PORTAL, redirectUri: PORTAL_RETURN, audience: AUDIENCE };
  return {
    ...{ glewlwyd, mandate, settings, origin },
    signIn: (person) => signInAtGlewlwyd(application, person, 'jira:read jira:comment'),
    async machineToken() {
      const { client_id, client_secret } = MACHINE_CLIENT;
      const form = { grant_type: 'client_credentials', client_id, client_secret, scope: 'jira:read' };
      const body = new URLSearchParams({ ...form, resource: AUDIENCE });
      const answer = await fetch(glewlwyd.tokenUrl, { method: 'POST', body });
      return String(((await answer.json()) as { access_token?: unknown }).access_token);
    },
    signOut: (browser) => signOutOfGlewlwyd(browser, glewlwyd.issuer),
    async stop() {
      await mandate.stop();
      await glewlwyd.stop();
    },
  };
}

function clients(issuer: string, origin: string) {
  const common = { enabled: true, scope: [], redirect_uri: [] };
  const logouts = {
    backchannel_logout_uri: `${issuer}/backchannel-logout`,
    backchannel_logout_session_required: '1',
  };
  const code = { ...common, ...logouts, authorization_type: ['code', 'refresh_token'] };
  const byAssertion = {
    confidential: true,
    token_endpoint_auth_method: ['private_key_jwt'],
    jwks_uri: `${issuer}/.well-known/jwks.json`,
  };
  const alone = { ...common, confidential: true, authorization_type: ['client_credentials'] };
  const { client_id, client_secret } = MACHINE_CLIENT;
  return [
    {
      ...{ ...code, client_id: PORTAL, redirect_uri: [PORTAL_RETURN] },
      ...{ confidential: false, token_endpoint_auth_method: ['none'] },
    },
    { ...code, ...byAssertion, client_id: PAGE_CLIENT_ID, redirect_uri: [`${issuer}/me/callback`] },
    { ...code, ...byAssertion, client_id: CONSOLE_CLIENT_ID, redirect_uri: [`${origin}/callback`] },
    { ...alone, ...byAssertion, client_id: SERVICE_CLIENT, scope: ['users:read'] },
    { ...alone, client_id, client_secret, token_endpoint_auth_method: ['client_secret_post'], scope: ['jira:read'] },
  ];
}
