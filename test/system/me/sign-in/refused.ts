/** The answers of the provider that the sign-in at /me refuses. */

import { expect } from 'chai';
import type { Answer } from '../../../support/mandate.ts';
import { personBrowser } from '../../../support/me/person-browser.ts';
import type { Site } from './site.ts';
import { expectNotice, SESSION } from './site.ts';

export function testRefusedAnswers(site: Site): void {
  const { signedIn } = site;

  describe('refuses an answer', () => {
    /** A finished sign-in at the provider, with these changes to the return address and the cookie of the sign-in. */
    const finishWith = async (
      change: (address: URL, cookies: string) => string | undefined,
    ): Promise<readonly [Answer, string]> => {
      const person = personBrowser(site.mandate);
      const address = await person.returnAddress();
      const cookies = change(address, person.cookies()) ?? person.cookies();
      return [await person.finish(address, cookies), person.cookies()];
    };
    const otherBegun = async () => {
      const { page, mandate } = site;
      const other = personBrowser(mandate);
      await other.browser.open(`${mandate.url}/me/sign-in`, page.provider.issuer);
      return other.cookies();
    };
    const faults: Readonly<Record<string, (address: URL) => unknown>> = {
      'without its state': (address) => address.searchParams.delete('state'),
      'with another state': (address) => address.searchParams.set('state', 'x'.repeat(43)),
      'with two states': (address) => address.searchParams.append('state', address.searchParams.get('state') ?? ''),
      'without a code': (address) => address.searchParams.delete('code'),
      'with a code that the provider did not issue': (address) => address.searchParams.set('code', 'x'.repeat(43)),
      'of another issuer': (address) => address.searchParams.set('iss', 'https://other.example'),
    };
    for (const [what, change] of Object.entries(faults)) {
      it(what, async () => {
        const [answer, cookies] = await finishWith((address) => void change(address));
        expectNotice(answer, 400, 'href="/me/sign-in"');
        expect(cookies).not.to.include(SESSION);
      });
    }

    it('to the sign-in of another browser, whose nonce and code verifier differ even with its state', async () => {
      const [answer] = await finishWith(() => undefined);
      expect(answer.status).to.equal(302);
      const foreign = await otherBegun();
      const [mismatched, cookies] = await finishWith(() => foreign);
      expectNotice(mismatched, 400, 'Begin again');
      expect(cookies).not.to.include(SESSION);
    });

    it('twice: the code is used up', async () => {
      const { mandate } = site;
      const person = personBrowser(mandate);
      const address = await person.returnAddress();
      const cookies = person.cookies();
      expect((await person.finish(address)).status).to.equal(302);
      expectNotice(await person.finish(address, cookies), 400, 'Begin again');
    });

    it('whose provider has no time, and says so with 503', async () => {
      const { mandate } = site;
      const person = personBrowser(mandate);
      const address = await person.returnAddress();
      address.searchParams.delete('code');
      address.searchParams.set('error', 'temporarily_unavailable');
      const answer = await person.finish(address);
      expectNotice(answer, 503, 'Try again');
      expect(answer.headers.get('retry-after')).to.equal('5');
    });

    const cookies: Readonly<Record<string, (cookie: string) => string>> = {
      'without its cookie': () => '',
      'with its cookie twice': (cookie) => `${cookie}; ${cookie}`,
      'with an oversized cookie': (cookie) => `${cookie}${'x'.repeat(4000)}`,
      'with a cookie of another version': (cookie) => cookie.replace('=me.', '=2.me.'),
      'with a cookie that names another place': (cookie) => cookie.replace('=me.', '=https://evil.example/.'),
    };
    for (const [what, change] of Object.entries(cookies)) {
      it(`${what}, but leads a person with a session to the page`, async () => {
        const [answer, after] = await finishWith((_, cookie) => change(cookie));
        expectNotice(answer, 400, 'was not completed');
        expect(after).not.to.include(SESSION);
        const session = await signedIn();
        const [led] = await finishWith((_, cookie) => `${change(cookie)}; ${session}`);
        expect([led.status, led.headers.get('location')]).to.deep.equal([302, '/me']);
        expect(led.headers.getSetCookie()).to.deep.equal([]);
      });
    }
  });
}
