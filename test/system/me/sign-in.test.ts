/** The sign-in at the page `/me`, over HTTP at a real provider, and the sessions that it opens. */

import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { databasesByLength } from '../../support/databases.ts';
import { ada, grace } from '../../support/identity-provider/people.ts';
import { PAGE_CLIENT_ID } from '../../support/identity-provider/provider-configuration.ts';
import { fieldsOf } from '../../support/mandate.ts';
import { personBrowser, startWithPage } from '../../support/me/person-browser.ts';
import { testEndedSessions } from './sign-in/ended.ts';
import { testOpenedSessions } from './sign-in/opened.ts';
import { testRefusedAnswers } from './sign-in/refused.ts';
import { expectNotice, FORM, formToken, isSignedIn, siteWithProvider } from './sign-in/site.ts';

for (const database of databasesByLength) {
  describe(`The sign-in at /me on ${database.name}`, function () {
    this.timeout(60_000);
    const site = siteWithProvider(database);
    const { signedIn } = site;

    it('asks the provider by code, with PKCE, state and nonce, and opens a session that only this origin gets', async () => {
      const { mandate } = site;
      const person = personBrowser(mandate);
      const records = await mandate.recorded(async () => {
        const begun = await mandate.get('/me/sign-in');
        const asked = Object.fromEntries(new URL(begun.headers.get('location') ?? '').searchParams);
        const { state, nonce, code_challenge, ...rest } = asked;
        expect(rest).to.deep.equal({
          client_id: PAGE_CLIENT_ID,
          redirect_uri: `${mandate.issuer}/me/callback`,
          response_type: 'code',
          scope: 'openid',
          code_challenge_method: 'S256',
          // A year, so that the ID token says when the person signed in: a pause depends on that.
          max_age: '31536000',
        });
        expect(new Set([state, nonce, code_challenge]).size).to.equal(3);
        for (const value of [state, nonce, code_challenge]) expect(value).to.match(/^[\w-]{43}$/);
        const answer = await person.signIn();
        expect(answer.status, answer.text).to.equal(302);
        expect(answer.headers.get('location')).to.equal('/me');
        const [session, ended] = answer.headers.getSetCookie();
        expect(session).to.match(/^__Host-mandate-me=[\w-]{43}; Path=\/; HttpOnly; Secure; SameSite=Lax$/);
        expect(ended).to.match(/^__Host-mandate-sign-in=; Max-Age=0; /);
        for (const [name, value] of [
          ['cache-control', 'no-store'],
          ['referrer-policy', 'no-referrer'],
          ['x-content-type-options', 'nosniff'],
        ] as const) {
          expect(answer.headers.get(name), name).to.equal(value);
        }
      });
      expect(await isSignedIn(mandate, person.cookies())).to.equal(true);
      expect(records, 'signing in is not recorded').to.deep.equal([]);
    });

    it('authenticates by the client secret in a file, at client_secret_post', async () => {
      const path = `/tmp/me-secret-${randomUUID()}`;
      await writeFile(path, 'a secret:with + and %\n'.replaceAll(' ', '-'));
      const secret = 'a-secret:with-+-and-%';
      const other = await startWithPage(
        database,
        { 'Service:Me:ClientSecret:Path': path },
        { page: { issuer: '', secret } },
      );
      const person = personBrowser(other.mandate);
      expect((await person.signIn()).headers.get('location')).to.equal('/me');
      await other.stop();
    });

    it('redirects only to its own pages after the sign-in', async () => {
      const { mandate } = site;
      for (const to of ['https://evil.example/', '//evil.example', '/me', 'constructor', '', 'me&to=resume']) {
        const answer = await mandate.get(`/me/sign-in?to=${to}`);
        expectNotice(answer, 400, 'href="/me/sign-in"');
        expect(answer.headers.getSetCookie()).to.deep.equal([]);
      }
      expectNotice(await mandate.get('/me/sign-in?next=/me'), 400, 'Begin again');
    });

    it('proves again who the person is before they resume, within five minutes', async () => {
      const { mandate } = site;
      const person = personBrowser(mandate);
      const begun = await mandate.get('/me/sign-in?to=resume');
      expect(new URL(begun.headers.get('location') ?? '').searchParams.get('max_age')).to.equal('300');
      const answer = await person.signIn('/me/sign-in?to=resume');
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([302, '/me/resume']);
      const again = await person.returnAddress('/me/sign-in?to=resume');
      // The provider says when the person signed in: for this service, that is now too long ago.
      mandate.clock.advance(600);
      expectNotice(await person.finish(again), 403, 'href="/me/sign-in?to=resume"');
      mandate.clock.advance(-600);
    });

    it('offers no pause, and refuses one with its record, in a session that could never lift it', async () => {
      const { mandate } = site;
      const accept = 'text/html';
      const cookie = await signedIn(grace);
      const offers = async () => {
        const { text } = await mandate.get('/me', { accept, cookie });
        return [text.includes('action="/me/pause"'), text.includes('You cannot pause agents here.')];
      };
      expect(await offers()).to.deep.equal([true, false]);
      await mandate.sql(`update sessions set authenticated_at = null where sub = '${grace.username}'`);
      expect(await offers()).to.deep.equal([false, true]);
      const token = formToken(cookie);
      const headers = { cookie, origin: mandate.issuer };
      const records = await mandate.recorded(async () => {
        const form = { method: 'POST', headers: { ...headers, ...FORM, accept }, body: `form_token=${token}` };
        expectNotice(await mandate.send('/me/pause', form), 409, 'You cannot pause agents');
        const called = { method: 'PUT', headers: { ...headers, 'mandate-form-token': token } };
        const { status, body } = await mandate.send('/me/pause', called);
        expect([status, body.error]).to.deep.equal([409, 'pause_not_liftable']);
      });
      const denied = ['me.denied', 'deny', 'pause_not_liftable', grace.username];
      expect(fieldsOf(records, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([denied, denied]);
      expect((await mandate.admin('GET', `/admin/sponsors/${grace.username}`)).status).to.equal(404);
    });

    it('leads a browser that opens the address of the sign-out to the page, and shows it a page for an unknown one', async () => {
      const { mandate } = site;
      const cookie = await signedIn();
      const accept = 'text/html';
      const left = await mandate.get('/me/sign-out', { accept });
      expect([left.status, left.headers.get('location')]).to.deep.equal([302, '/me']);
      expectNotice(await mandate.get('/me/nothing', { accept, cookie }), 404, 'There is nothing here');
      expect((await mandate.get('/me/tasks', { accept, cookie })).body.tasks).to.be.an('array');
      expectNotice(await mandate.get('/me/nothing', { accept }), 401, 'Your sign-in has ended');
    });

    it('sends its redirects, and those of the page, with the headers of a page', async () => {
      const { mandate } = site;
      const person = personBrowser(mandate);
      const returned = await person.finish(await person.returnAddress());
      const cookie = person.cookies();
      const redirects = [
        returned,
        await mandate.get('/me', { accept: 'text/html' }),
        await mandate.get('/me/sign-in', { accept: 'text/html' }),
        await mandate.get('/me/callback', { cookie, accept: 'text/html' }),
        await mandate.send('/me/tasks/stop', {
          method: 'POST',
          headers: { ...FORM, cookie, accept: 'text/html', origin: mandate.issuer },
          body: `form_token=${formToken(cookie)}`,
        }),
      ];
      expect(redirects.map(({ status }) => status)).to.deep.equal([302, 302, 302, 302, 303]);
      for (const { headers } of redirects) {
        expect(headers.get('content-security-policy')).to.include("frame-ancestors 'none'");
        expect(headers.get('referrer-policy')).to.equal('no-referrer');
        expect(headers.get('x-content-type-options')).to.equal('nosniff');
        expect(headers.get('cache-control')).to.equal('no-store');
        for (const policy of ['opener', 'resource']) {
          expect(headers.get(`cross-origin-${policy}-policy`), policy).to.equal('same-origin');
        }
      }
    });

    it('answers OPTIONS for no path of the page without a credential', async () => {
      const { mandate } = site;
      for (const path of ['/me', '/me/pause', '/me/tasks/stop']) {
        const records = await mandate.recorded(async () => {
          const answer = await mandate.send(path, { method: 'OPTIONS' });
          expect([answer.status, answer.body.error, answer.headers.get('allow')], path).to.deep.equal([
            ...[401, 'missing_token', null],
          ]);
        });
        expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([['me.denied', 'missing_token']]);
      }
    });

    it('finds the person by the claim of the sponsor key, and shows the name of the ID token', async () => {
      const settings = { 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' };
      const keyed = await startWithPage(database, settings);
      const person = personBrowser(keyed.mandate);
      expect((await person.signIn()).status).to.equal(302);
      const { text } = await keyed.mandate.get('/me', { accept: 'text/html', cookie: person.cookies() });
      expect(text).to.include(`Signed in as <bdi translate="no">${ada.name}</bdi>`);
      expect(text).to.include(`find you as <bdi translate="no">${ada.claims?.oid}</bdi>`);
      // Another's question and none have one page: it says as whom the person is signed in, and offers another sign-in.
      const unknown = '/me/tasks/task_01JDCK0000000000000000NONE';
      const nothing = await keyed.mandate.get(unknown, { accept: 'text/html', cookie: person.cookies() });
      expect(nothing.status).to.equal(404);
      expect(nothing.text).to.include(`signed in as <bdi translate="no">${ada.name}</bdi>.`);
      const [, to = ''] = /href="(\/me\/sign-in\?to=other)">Sign in as another person/.exec(nothing.text) ?? [];
      const begun = await keyed.mandate.get(to);
      expect(new URL(String(begun.headers.get('location'))).searchParams.get('prompt')).to.equal('login');
      const plain = await keyed.mandate.get('/me/sign-in');
      expect(new URL(String(plain.headers.get('location'))).searchParams.get('prompt')).to.equal(null);
      await keyed.stop();
      const missing = await startWithPage(database, { 'Service:UpstreamIdp:SponsorKeyClaim': 'employee' });
      expectNotice(await personBrowser(missing.mandate).signIn(), 403, 'Your account cannot use this page');
      await missing.stop();
    });

    it('says that the provider is away, when the sign-in begins and when the browser returns', async () => {
      const away = await startWithPage(database);
      const person = personBrowser(away.mandate);
      const address = await person.returnAddress();
      await away.provider.goDown();
      expectNotice(await person.finish(address), 503, 'href="/me/sign-in"');
      const blind = await away.mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' });
      const answer = await blind.get('/me/sign-in');
      expectNotice(answer, 503, 'Try again');
      expect([answer.headers.get('retry-after'), answer.headers.getSetCookie()]).to.deep.equal(['5', []]);
      await blind.stop();
      await away.provider.comeBack();
      expect((await person.signIn()).status).to.equal(302);
      await away.stop();
    });

    testRefusedAnswers(site);
    testOpenedSessions(site);
    testEndedSessions(site, database);
  });
}
