/** A sign-in by authorization code and PKCE: `openid-client` is the application, a scripted browser the person. */

import { decodeJwt } from 'jose';
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  None,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
import { type Browser, makeBrowser, type Page } from './browser.ts';
import { trustingFetch } from './trusting-fetch.ts';

export interface Application {
  readonly issuer: string;
  readonly clientId: string;
  readonly redirectUri: string;
  /** The resource that the application requests, the `aud` of access tokens. */
  readonly audience: string;
}

export interface SignedIn {
  readonly accessToken: string;
  readonly idToken: string;
  /** The session id in access tokens and logout tokens. */
  readonly sid: string;
  /** The scopes of the access token: those requested scopes that the person holds. */
  readonly scope: string;
  /** Ends the session at the provider. Resolves after the provider has sent its logout tokens. */
  signOut(): Promise<void>;
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export class SignInRefused extends Error {
  override readonly name = 'SignInRefused';
}

/** Passes the provider's pages as the person. Resolves with the address that the browser is sent back to, unopened. */
export type PassPages = typeof passThePages;

/** The application's tokens, and the browser in which the person signed in. */
export async function codeGrant(application: Application, person: Credentials, scope: string, pass: PassPages) {
  const config = await discovery(new URL(application.issuer), application.clientId, undefined, None(), {
    execute: [allowInsecureRequests],
    [customFetch]: fetchAsApplication,
  });
  const pkceCodeVerifier = randomPKCECodeVerifier();
  const expectedState = randomState();
  const expectedNonce = randomNonce();
  const start = buildAuthorizationUrl(config, {
    redirect_uri: application.redirectUri,
    scope: `openid ${scope}`.trim(),
    resource: application.audience,
    code_challenge: await calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: expectedState,
    nonce: expectedNonce,
  });

  const browser = makeBrowser();
  const callback = await pass(browser, start, person, application.redirectUri);
  const tokens = await authorizationCodeGrant(
    config,
    callback,
    { pkceCodeVerifier, expectedState, expectedNonce, idTokenExpected: true },
    { resource: application.audience },
  );
  return { config, browser, tokens };
}

/** @throws SignInRefused if the provider refuses the name or the password */
export async function signIn(application: Application, person: Credentials, scope: string): Promise<SignedIn> {
  const { tokens, browser, config } = await codeGrant(application, person, scope, passThePages);
  const { sid, scope: granted } = decodeJwt(tokens.access_token);
  if (tokens.id_token === undefined || typeof sid !== 'string') {
    throw new Error('the identity provider answered without an ID token or a session');
  }
  return {
    accessToken: tokens.access_token,
    idToken: tokens.id_token,
    sid,
    scope: typeof granted === 'string' ? granted : '',
    async signOut() {
      // The client_id identifies the client. An ID token could not, because after a key rotation no published key
      // verifies it.
      const confirmation = await browser.open(buildEndSessionUrl(config, { client_id: application.clientId }).href);
      expectPage(await browser.submit(confirmation, {}));
    },
  };
}

const fetchAsApplication: CustomFetch = (url, { method, headers, body }) => {
  if (body !== undefined && body !== null && !(body instanceof URLSearchParams)) throw new Error('not a form');
  return trustingFetch(url, { method, headers, ...(body && { body }) });
};

/** Submits the login and consent pages until the provider redirects to the application. */
export async function passThePages(
  browser: Browser,
  start: URL,
  person: Credentials,
  redirectUri: string,
): Promise<URL> {
  let page = await browser.open(start.href, redirectUri);
  while (!page.url.startsWith(redirectUri)) {
    expectPage(page);
    const asksWhoYouAre = page.text.includes('name="password"');
    const fields = asksWhoYouAre ? { username: person.username, password: person.password } : {};
    page = await browser.submit(page, fields, redirectUri);
  }
  return new URL(page.url);
}

function expectPage(page: Page): void {
  if (page.status === 401) {
    throw new SignInRefused('the identity provider does not know that name and password');
  }
  if (page.status !== 200) {
    throw new Error(`the identity provider answered ${page.status}: ${page.text}`);
  }
}
