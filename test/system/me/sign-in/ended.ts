/** What ends a session at /me. */

import { expect } from 'chai';
import type { TestDatabase } from '../../../support/databases.ts';
import { grace } from '../../../support/identity-provider/people.ts';
import { PAGE_CLIENT_ID } from '../../../support/identity-provider/provider-configuration.ts';
import { type Answer, fieldsOf } from '../../../support/mandate.ts';
import { personBrowser, postOwn, startWithPage } from '../../../support/me/person-browser.ts';
import type { Site } from './site.ts';
import { expectNotice, FORM, formToken, isSignedIn, signOut } from './site.ts';

/** The address that the page opens by itself. A header would be in the log of a proxy that keeps the headers of answers. */
function opened(answer: Answer): string | undefined {
  for (const [name, value] of answer.headers) expect(value, name).not.to.include('id_token_hint');
  expect(answer.headers.get('refresh')).to.equal(null);
  const [, address] = /<meta http-equiv="refresh" content="0; url=([^"]*)">/.exec(answer.text) ?? [];
  return address?.replaceAll('&amp;', '&');
}

export function testEndedSessions(site: Site, database: TestDatabase): void {
  const { signedIn } = site;

  describe('ends', () => {
    const everywhere = (cookie: string) =>
      postOwn(site.mandate, '/me/sign-out', cookie, { form_token: formToken(cookie), everywhere: 'yes' });

    it('with a sign-out everywhere, whose ID token the database does not hold in the clear, nor the log', async () => {
      const { page, mandate } = site;
      const cookie = await signedIn();
      const [{ sealed_id_token: kept } = {}] = await mandate.sql(
        'select sealed_id_token from sessions order by created_at desc limit 1',
      );
      expect(kept).to.match(/^[\w-]{500,}$/);
      const replica = await mandate.another({ 'Service:Issuer': mandate.issuer });
      const form = { form_token: formToken(cookie), everywhere: 'yes' };
      const answer = await postOwn(replica, '/me/sign-out', cookie, form);
      await replica.stop();
      expectNotice(answer, 200, 'Now your organisation ends your session there.');
      const end = new URL(opened(answer) ?? '');
      expect(`${end.origin}${end.pathname}`).to.equal(`${page.provider.issuer}/session/end`);
      const { id_token_hint = '', ...named } = Object.fromEntries(end.searchParams);
      const post_logout_redirect_uri = `${mandate.issuer}/me/signed-out`;
      expect(named).to.deep.equal({ client_id: PAGE_CLIENT_ID, post_logout_redirect_uri });
      const claims = JSON.parse(Buffer.from(id_token_hint.split('.')[1] ?? '', 'base64url').toString());
      expect(claims).to.include({ sub: 'ada', aud: PAGE_CLIENT_ID });
      expect(kept).not.to.include(id_token_hint.slice(0, 40));
      for (const log of [mandate.log, replica.log]) expect(log.lines.join('\n')).not.to.include('eyJ');
      expect(await isSignedIn(mandate, cookie)).to.equal(false);
      // A page from before still leads there, though nothing is known of its session.
      const again = await everywhere(cookie);
      expect(opened(again)).to.include('/session/end?').and.not.include('id_token_hint');
    });

    it('with a sign-out everywhere that names the client alone, if the ID token is too long for an address', async () => {
      const other = await startWithPage(database, {}, { odd: {} });
      for (const idTokenPadding of [4096, 40_000]) {
        other.provider.misbehave({ idTokenPadding });
        const person = personBrowser(other.mandate);
        expect((await person.signIn()).headers.get('location')).to.equal('/me');
        const cookie = person.cookies();
        const kept = await other.mandate.sql('select sealed_id_token from sessions');
        expect(kept).to.deep.equal([{ sealed_id_token: null }]);
        const form = { form_token: formToken(cookie), everywhere: 'yes' };
        const answer = await postOwn(other.mandate, '/me/sign-out', cookie, form);
        expectNotice(answer, 200, 'Now your organisation ends your session there.');
        expect(answer.text).to.include('/session/end?').and.include(`client_id=${PAGE_CLIENT_ID}`);
        expect(answer.text).not.to.include('id_token_hint').and.not.include('eyJ');
        expect(await isSignedIn(other.mandate, cookie)).to.equal(false);
      }
      await other.stop();
    });

    it('by no form of another page, not even for a sign-out everywhere', async () => {
      const { mandate } = site;
      const cookie = await signedIn();
      const foreign = await postOwn(mandate, '/me/sign-out', cookie, { form_token: 'x', everywhere: 'yes' });
      expectNotice(foreign, 403, 'Nothing was changed');
      expect(opened(foreign)).to.equal(undefined);
      expect((await mandate.get('/me', { accept: 'text/html', cookie })).text).to.include('value="yes"');
      expect(await isSignedIn(mandate, cookie)).to.equal(true);
    });

    it('and the return from the provider says so, or leads a person who is still signed in to the page', async () => {
      const { mandate } = site;
      const cookie = await signedIn();
      for (const path of ['/me/signed-out', '/me/signed-out?state=x&error=y']) {
        expectNotice(await mandate.get(path), 200, 'Your organisation has sent you back here.');
        const led = await mandate.get(path, { cookie });
        expect([led.status, led.headers.get('location')]).to.deep.equal([302, '/me']);
      }
      expect((await mandate.send('/me/signed-out', { method: 'POST' })).status).to.equal(405);
    });

    it('with a sign-out, here alone', async () => {
      const { mandate } = site;
      const [cookie, other] = [await signedIn(), await signedIn()];
      const records = await mandate.recorded(async () => {
        const answer = await signOut(mandate, cookie);
        expectNotice(answer, 200, 'You are signed out here');
        expect(opened(answer)).to.equal(undefined);
        expect(answer.headers.getSetCookie()[0]).to.match(/^__Host-mandate-me=; Max-Age=0; /);
      });
      expect([await isSignedIn(mandate, cookie), await isSignedIn(mandate, other)]).to.deep.equal([false, true]);
      expect(records).to.deep.equal([]);
      const again = await postOwn(mandate, '/me/sign-out', cookie, {});
      expectNotice(again, 200, 'You are signed out');
      expect(opened(again)).to.equal(undefined);
    });

    it('not by a write that another site could send, which is recorded', async () => {
      const { mandate } = site;
      const [cookie, foreign] = [await signedIn(), await signedIn(grace)];
      const form_token = formToken(cookie);
      const { origin } = new URL(mandate.issuer);
      const attempts: readonly (readonly [string, Record<string, string>, Record<string, string>])[] = [
        ['no token', { origin }, {}],
        ["another session's token", { origin }, { form_token: formToken(foreign) }],
        ['neither header', {}, { form_token }],
        ['another origin', { origin: 'https://evil.example' }, { form_token }],
        ['an opaque origin', { origin: 'null' }, { form_token }],
        ['another site', { origin, 'sec-fetch-site': 'cross-site' }, { form_token }],
        ['another origin of the site', { origin, 'sec-fetch-site': 'same-site' }, { form_token }],
        ['no page at all', { origin, 'sec-fetch-site': 'none' }, { form_token }],
      ];
      for (const [what, headers, form] of attempts) {
        const records = await mandate.recorded(async () => {
          const answer = await mandate.send('/me/sign-out', {
            method: 'POST',
            headers: { ...FORM, ...headers, cookie },
            body: new URLSearchParams(form).toString(),
          });
          expectNotice(answer, 403, 'href="/me"');
        });
        const expected = [['me.denied', 'deny', 'invalid_form_token', null]];
        expect(fieldsOf(records, 'event', 'decision', 'reason', 'sponsor'), what).to.deep.equal(expected);
      }
      expect(await isSignedIn(mandate, cookie)).to.equal(true);
      const modern = { ...FORM, cookie, 'sec-fetch-site': 'same-origin', 'mandate-form-token': form_token };
      expect((await mandate.send('/me/sign-out', { method: 'POST', headers: modern })).status).to.equal(200);
    });

    it('with a logout token for its client, which ends no task; a stolen session opens nothing after it', async () => {
      const { page, mandate } = site;
      const agent = await mandate.agent();
      const issued = await agent.exchange();
      const person = personBrowser(mandate);
      await person.signIn();
      const [stolen, elsewhere, other] = [person.cookies(), await signedIn(), await signedIn(grace)];
      const records = await mandate.recorded(async () => {
        const end = new URL(`${page.provider.issuer}/session/end?client_id=${PAGE_CLIENT_ID}`);
        await person.browser.submit(await person.browser.open(end.href), {});
      });
      expect(fieldsOf(records, 'event', 'reason', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'sponsor_logged_out', 'ada'],
      ]);
      expect(await isSignedIn(mandate, stolen)).to.equal(false);
      // Its session is the provider's other one.
      expect(await isSignedIn(mandate, elsewhere)).to.equal(true);
      expect(await isSignedIn(mandate, other)).to.equal(true);
      expect(await mandate.introspect(issued)).to.include({ active: true });
      const iat = mandate.clock.seconds();
      const claims = { aud: PAGE_CLIENT_ID, sub: 'ada', iat, exp: iat + 120 };
      const everywhere = page.provider.signLogoutToken(claims);
      expect((await mandate.post('/backchannel-logout', { logout_token: everywhere })).status).to.equal(200);
      expect(await isSignedIn(mandate, elsewhere)).to.equal(false);
      expect(await mandate.introspect(issued)).to.include({ active: true });
    });
  });
}
