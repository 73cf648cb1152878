/** People at Glewlwyd. Its pages are scripts: this file sends what the scripts send. */

import type { Browser } from './browser.ts';
import type { Person } from './people.ts';
import { type Application, codeGrant, type PassPages } from './sign-in.ts';

export interface AtGlewlwyd {
  readonly accessToken: string;
  readonly idToken: string;
  signOut(): Promise<void>;
}

/** The cookie of the session whose id is the `sid` of ID tokens and logout tokens. */
const SESSION_COOKIE = 'GLEWLWYD2_OIDC_SID';

/** Grants the client all scopes that it requests. Its tokens then have those that the person holds. */
export const passGlewlwyd: PassPages = async (browser, start, person, redirectUri) => {
  const login = new URL((await browser.open(start.href, redirectUri)).url);
  if (login.href.startsWith(redirectUri)) return login;
  const [callback, clientId, scope] = ['callback_url', 'client_id', 'scope'].map((name) =>
    login.searchParams.get(name),
  );
  const { username, password } = person;
  await send(browser, 'POST', `${login.origin}/api/auth/`, { username, password });
  await send(browser, 'PUT', `${login.origin}/api/auth/grant/${clientId}/`, { scope });
  return new URL((await browser.open(`${callback}&g_continue`, redirectUri)).url);
};

export async function signInAtGlewlwyd(application: Application, person: Person, scope: string): Promise<AtGlewlwyd> {
  const { tokens, browser } = await codeGrant(application, person, scope, passGlewlwyd);
  const { access_token: accessToken, id_token: idToken = '' } = tokens;
  return { accessToken, idToken, signOut: () => signOutOfGlewlwyd(browser, application.issuer) };
}

/** As a person who confirms it on the page. Glewlwyd sends its logout tokens after the answer. */
export async function signOutOfGlewlwyd(browser: Browser, issuer: string): Promise<void> {
  const cookie = browser
    .cookies(issuer)
    .split('; ')
    .find((pair) => pair.startsWith(`${SESSION_COOKIE}=`));
  await send(browser, 'DELETE', `${issuer}/session/${cookie?.slice(SESSION_COOKIE.length + 1)}`);
}

async function send(browser: Browser, method: string, url: string, body?: unknown): Promise<void> {
  const answer = await fetch(url, {
    method,
    headers: { cookie: browser.cookies(url), 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (answer.status !== 200) throw new Error(`Glewlwyd answered ${answer.status} to ${method} ${url}`);
  browser.keep(answer.headers);
}
