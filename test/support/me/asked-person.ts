/** A person who reads a question at its page in a running Mandate, and answers by its form. */

import { expect } from 'chai';
import type { Mandate } from '../mandate.ts';
import type { PersonBrowser } from './person-browser.ts';

export interface FormAnswer {
  readonly decision: 'approve' | 'refuse';
  /** Beside a no: what the person writes on the page's line. */
  readonly reason?: string;
}

/** Opens the address as a browser does: it leads to the provider unless the person is signed in. @param title on the page */
export async function answerAtPage(
  mandate: Mandate,
  person: PersonBrowser,
  uri: string,
  title: string,
  answer: FormAnswer,
): Promise<void> {
  const path = uri.slice(mandate.issuer.length);
  let page = await mandate.get(path, { cookie: person.cookies(), accept: 'text/html' });
  if (page.status !== 200) {
    expect(page.text).not.to.include(title);
    const signedIn = await person.signIn(`/me/sign-in?to=${path.split('/').at(-1)}`);
    expect(signedIn.headers.get('location')).to.equal(path);
    page = await mandate.get(path, { cookie: person.cookies(), accept: 'text/html' });
  }
  expect(page.text).to.include(title);
  const field = (name: string) => new RegExp(`name="${name}" value="([^"]+)"`).exec(page.text)?.[1] ?? '';
  const form = { form_token: field('form_token'), commitment: field('commitment'), ...answer };
  const headers = { cookie: person.cookies(), origin: mandate.issuer, accept: 'text/html' };
  expect((await mandate.post(`${path}/answer`, form, headers)).status).to.equal(303);
}
