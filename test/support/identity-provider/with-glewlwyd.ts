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
import { edsger, grace, type Person } from './people.ts';
import { CONSOLE_CLIENT_ID, MACHINE_CLIENT, PAGE_CLIENT_ID } from './provider-configuration.ts';

/** The client of the application, with which people sign in. */
export const PORTAL = 'portal';
/** The client with which Mandate gets the token for the users service. */
export const SERVICE_CLIENT = 'mandate';

export const SCIM_TOKEN = 'a-provisioning-credential-for-glewlwyd-01';

/** The portal is a browser of the test: nothing listens there. */
const PORTAL_RETURN = 'http://127.0.0.1:9/signed-in';

export interface WithGlewlwyd {
  readonly glewlwyd: Glewlwyd;
  readonly mandate: Mandate;
  /** The settings of that service, for doctor. */
  readonly settings: Readonly<Record<string, string>>;
  /** `Service:Console:Origin`. */
  readonly origin: string;
  /** Signs in at the application. @param scope that it requests, by default `jira:read` and `jira:comment` */
  signIn(person: Person, scope?: string): Promise<AtGlewlwyd>;
  /** The access token of an application without a person, for Mandate. */
  machineToken(): Promise<string>;
  signOut(browser: Browser): Promise<void>;
  stop(): Promise<void>;
}

/** @param more settings of the service, by its issuer */
export async function startWithGlewlwyd(
  kind: TestDatabase,
  more: (issuer: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<WithGlewlwyd> {
  const [port, consolePort] = [await freePort(), await freePort()];
  const [issuer, origin] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${consolePort}`];
  const glewlwyd = await startGlewlwyd({ MANDATE: issuer, CONSOLE: origin, PORTAL: new URL(PORTAL_RETURN).origin });
  for (const person of [grace, edsger, operators.viewer, operators.none]) await glewlwyd.addPerson(person);
  await glewlwyd.addClient({
    client_id: MACHINE_CLIENT.client_id,
    client_secret: MACHINE_CLIENT.client_secret,
    confidential: true,
    token_endpoint_auth_method: ['client_secret_post'],
    authorization_type: ['client_credentials'],
    scope: ['jira:read'],
    redirect_uri: [],
  });
  const database = await kind.fresh();
  const settings = {
    ...database.settings,
    ...sharedSigningKey(),
    ...OPERATORS,
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    PORT: String(port),
    'Service:Issuer': issuer,
    'Service:Admin:ApiKey': ADMIN_KEY,
    'Service:UpstreamIdp:Issuer': glewlwyd.issuer,
    'Service:UpstreamIdp:Audience': issuer,
    'Service:UpstreamIdp:SponsorKeyClaim': 'username',
    'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint',
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    'Service:UpstreamIdp:BackchannelLogout:Audience': PORTAL,
    'Service:Scim:BearerToken': SCIM_TOKEN,
    'Service:Scim:SponsorKeyAttribute': 'userName',
    'Service:Me:ClientId': PAGE_CLIENT_ID,
    'Service:Operators:ClientId': CONSOLE_CLIENT_ID,
    'Service:Console:Port': String(consolePort),
    'Service:Console:Origin': origin,
    ...more(issuer),
  };
  const mandate = await startMandate({ database: { ...kind, fresh: async () => database }, settings });
  const application = { issuer: glewlwyd.issuer, clientId: PORTAL, redirectUri: PORTAL_RETURN, audience: issuer };
  return {
    glewlwyd,
    mandate,
    settings,
    origin,
    signIn: (person, scope = 'jira:read jira:comment') => signInAtGlewlwyd(application, person, scope),
    async machineToken() {
      const { client_id, client_secret } = MACHINE_CLIENT;
      const form = { grant_type: 'client_credentials', client_id, client_secret, scope: 'jira:read' };
      const body = new URLSearchParams({ ...form, resource: issuer });
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
