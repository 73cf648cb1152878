/** A service with the page at /me, and its provider. */

import { expect } from 'chai';
import { formTokenOf } from '../../../../adapters/http/browser/cookies.ts';
import { meCookies } from '../../../../adapters/http/me/cookies.ts';
import type { TestDatabase } from '../../../support/databases.ts';
import type { grace } from '../../../support/identity-provider/people.ts';
import type { Answer, Mandate } from '../../../support/mandate.ts';
import { type PageWithProvider, personBrowser, postOwn, startWithPage } from '../../../support/me/person-browser.ts';

export const SESSION = '__Host-mandate-me';

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Whether the cookies hold a session. A return without a sign-in leads to the page only with one. */
export async function isSignedIn(mandate: Mandate, cookie: string): Promise<boolean> {
  const answer = await mandate.get('/me/callback', { cookie });
  expect(answer.status).to.be.oneOf([302, 400]);
  return answer.status === 302;
}

export function formToken(cookies: string): string {
  const secret = meCookies.sessionSecret(cookies);
  if (secret === undefined) throw new Error('there is no session');
  return formTokenOf(secret);
}

export const signOut = (mandate: Mandate, cookie: string, form = formToken(cookie)) =>
  postOwn(mandate, '/me/sign-out', cookie, { form_token: form });

export function expectNotice(answer: Answer, status: number, text: string): void {
  expect(answer.status, answer.text).to.equal(status);
  expect(answer.headers.get('content-type')).to.equal('text/html; charset=utf-8');
  expect(answer.headers.get('cache-control')).to.equal('no-store');
  expect(answer.headers.get('www-authenticate')).to.equal(status === 401 ? 'Bearer' : null);
  expect(answer.headers.get('content-security-policy')).to.include("frame-ancestors 'none'");
  expect(answer.headers.get('cross-origin-opener-policy')).to.equal('same-origin');
  expect(answer.headers.get('cross-origin-resource-policy')).to.equal('same-origin');
  expect(answer.text).to.include(text);
}

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function siteWithProvider(database: TestDatabase, settings: Readonly<Record<string, string>> = {}) {
  let page: PageWithProvider;
  let mandate: Mandate;

  before(async () => {
    page = await startWithPage(database, { 'Service:Audit:Aggregation:Enabled': 'false', ...settings });
    mandate = page.mandate;
  });

  after(() => page.stop());

  const signedIn = async (person?: typeof grace): Promise<string> => {
    const browser = personBrowser(mandate, person);
    const answer = await browser.signIn();
    expect(answer.status, answer.text).to.equal(302);
    return browser.cookies();
  };

  return {
    get page() {
      return page;
    },
    get mandate() {
      return mandate;
    },
    signedIn,
  };
}

export type Site = ReturnType<typeof siteWithProvider>;
