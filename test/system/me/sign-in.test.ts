/** The sign-in at the page `/me`, over HTTP at a real provider, and the sessions that it opens. */

import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { formTokenOf } from '../../../adapters/http/browser/cookies.ts';
import { meCookies } from '../../../adapters/http/me/cookies.ts';
import { databasesByLength } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { ada, grace } from '../../support/identity-provider/people.ts';
import { PAGE_CLIENT_ID } from '../../support/identity-provider/provider-configuration.ts';
import { type Answer, fieldsOf, type Mandate } from '../../support/mandate.ts';
import { type PageWithProvider, personBrowser, postOwn, startWithPage } from '../../support/me/person-browser.ts';

const SESSION = '__Host-mandate-me';
const UNKNOWN = 'task_01M31S7W68TMK7WDX8YKPSYTE0';
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };

/** Whether the cookies hold a session. A return without a sign-in leads to the page only with one. */
async function isSignedIn(mandate: Mandate, cookie: string): Promise<boolean> {
  const answer = await mandate.get('/me/callback', { cookie });
  expect(answer.status).to.be.oneOf([302, 400]);
  return answer.status === 302;
}

function formToken(cookies: string): string {
  const secret = meCookies.sessionSecret(cookies);
  if (secret === undefined) throw new Error('there is no session');
  return formTokenOf(secret);
}

const signOut = (mandate: Mandate, cookie: string, form = formToken(cookie)) =>
  postOwn(mandate, '/me/sign-out', cookie, { form_token: form });

/** The address that the page opens by itself. A header would be in the log of a proxy that keeps the headers of answers. */
function opened(answer: Answer): string | undefined {
  for (const [name, value] of answer.headers) expect(value, name).not.to.include('id_token_hint');
  expect(answer.headers.get('refresh')).to.equal(null);
  const [, address] = /<meta http-equiv="refresh" content="0; url=([^"]*)">/.exec(answer.text) ?? [];
  return address?.replaceAll('&amp;', '&');
}

function expectNotice(answer: Answer, status: number, text: string): void {
  expect(answer.status, answer.text).to.equal(status);
  expect(answer.headers.get('content-type')).to.equal('text/html; charset=utf-8');
  expect(answer.headers.get('cache-control')).to.equal('no-store');
  expect(answer.headers.get('www-authenticate')).to.equal(status === 401 ? 'Bearer' : null);
  expect(answer.headers.get('content-security-policy')).to.include("frame-ancestors 'none'");
  expect(answer.headers.get('cross-origin-opener-policy')).to.equal('same-origin');
  expect(answer.headers.get('cross-origin-resource-policy')).to.equal('same-origin');
  expect(answer.text).to.include(text);
}

for (const database of databasesByLength) {
  describe(`The sign-in at /me on ${database.name}`, function () {
    this.timeout(60_000);
    let page: PageWithProvider;
    let mandate: Mandate;
    before(async () => {
      page = await startWithPage(database, { 'Service:Audit:Aggregation:Enabled': 'false' });
      mandate = page.mandate;
    });
    after(() => page.stop());

    const signedIn = async (person?: typeof grace): Promise<string> => {
      const browser = personBrowser(mandate, person);
      const answer = await browser.signIn();
      expect(answer.status, answer.text).to.equal(302);
      return browser.cookies();
    };

    it('asks the provider by code, with PKCE, state and nonce, and opens a session that only this origin gets', async () => {
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

    it('authenticates by an assertion for the token endpoint, where the provider accepts no other', async () => {
      const other = await startWithPage(
        database,
        { 'Service:UpstreamIdp:ClientAssertionAudience': 'token_endpoint' },
        { acceptsOnlyTokenEndpoint: true },
      );
      const person = personBrowser(other.mandate);
      expect((await person.signIn()).headers.get('location')).to.equal('/me');
      await other.stop();
    });

    describe('refuses an answer', () => {
      /** A finished sign-in at the provider, with these changes to the return address and the cookie of the sign-in. */
      const finishWith = async (
        change: (address: URL, cookies: string) => string | undefined,
      ): Promise<readonly [Answer, string]> => {
        const person = personBrowser(mandate);
        const address = await person.returnAddress();
        const cookies = change(address, person.cookies()) ?? person.cookies();
        return [await person.finish(address, cookies), person.cookies()];
      };
      const otherBegun = async () => {
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
        const person = personBrowser(mandate);
        const address = await person.returnAddress();
        const cookies = person.cookies();
        expect((await person.finish(address)).status).to.equal(302);
        expectNotice(await person.finish(address, cookies), 400, 'Begin again');
      });

      it('of a person who did not agree', async () => {
        const person = personBrowser(mandate);
        const address = await person.returnAddress();
        address.searchParams.delete('code');
        address.searchParams.set('error', 'access_denied');
        expectNotice(await person.finish(address), 400, 'The sign-in was cancelled');
      });

      it('whose provider has no time, and says so with 503', async () => {
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

    it('goes on only to a place of its own', async () => {
      for (const to of ['https://evil.example/', '//evil.example', '/me', 'constructor', '', 'me&to=resume']) {
        const answer = await mandate.get(`/me/sign-in?to=${to}`);
        expectNotice(answer, 400, 'href="/me/sign-in"');
        expect(answer.headers.getSetCookie()).to.deep.equal([]);
      }
      expectNotice(await mandate.get('/me/sign-in?next=/me'), 400, 'Begin again');
    });

    it('proves again who the person is before they resume, within five minutes', async () => {
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

    it('answers 405 to any other method', async () => {
      for (const [path, method] of [
        ['/me/sign-in', 'POST'],
        ['/me/callback', 'POST'],
        ['/me/sign-out', 'GET'],
      ] as const) {
        expect((await mandate.send(path, { method })).status, path).to.equal(405);
      }
    });

    it('leads a browser that opens the address of a form to the page, and shows it a page for an unknown one', async () => {
      const cookie = await signedIn();
      const accept = 'text/html';
      const records = await mandate.recorded(async () => {
        for (const path of ['sign-out', 'pause', 'tasks/stop', `tasks/${UNKNOWN}/stop`, 'agents/stop']) {
          for (const headers of [{ accept }, { accept, cookie }]) {
            const answer = await mandate.get(`/me/${path}`, headers);
            expect([answer.status, answer.headers.get('location')], path).to.deep.equal([302, '/me']);
          }
        }
        expectNotice(await mandate.get('/me/nothing', { accept, cookie }), 404, 'There is nothing here');
        expect((await mandate.get('/me/tasks', { accept, cookie })).body.tasks).to.be.an('array');
      });
      expect(records).to.deep.equal([]);
      const refused = await mandate.recorded(async () => {
        expectNotice(await mandate.get('/me/nothing', { accept }), 401, 'Your sign-in has ended');
        const { status, headers } = await mandate.get('/me/nothing', { accept, authorization: 'Bearer x' });
        expect([status, headers.get('content-type')]).to.deep.equal([401, 'application/problem+json; charset=utf-8']);
      });
      expect(fieldsOf(refused, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
        ['me.denied', 'deny', 'missing_token', null],
        ['me.denied', 'deny', 'invalid_token', null],
      ]);
    });

    it('sends its redirects, and those of the page, with the headers of a page', async () => {
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

    describe('opens a session', () => {
      it('that counts only as one cookie of its form', async () => {
        const cookie = await signedIn();
        const value = cookie.slice(SESSION.length + 1);
        expect(await isSignedIn(mandate, `a=b; ${cookie}; c=d`)).to.equal(true);
        for (const bad of [
          `${cookie}; ${cookie}`,
          `${cookie}; ${SESSION}=`,
          `${cookie}${'x'.repeat(5000)}`,
          `${SESSION}=2.${value}`,
          `${SESSION}=${value.slice(1)}`,
          `${SESSION}="${value}"`,
          `${SESSION.toLowerCase()}=${value}`,
          `${SESSION}=${'x'.repeat(43)}`,
        ]) {
          expect(await isSignedIn(mandate, bad), bad.slice(0, 80)).to.equal(false);
        }
      });

      it("that a sibling host's cookie under a name with a leading no-break space neither opens nor hides", async () => {
        const [cookie, planted] = [await signedIn(), await signedIn(grace)];
        const accept = 'text/html';
        const alone = await mandate.get('/me', { accept, cookie: `\u00a0${planted}` });
        expect([alone.status, alone.headers.get('location')]).to.deep.equal([302, '/me/sign-in']);
        const spaces = await mandate.get('/me', { accept, cookie: '\u00a0'.repeat(8 * 1024) });
        expect([spaces.status, spaces.headers.get('location')]).to.deep.equal([302, '/me/sign-in']);
        for (const both of [`\u00a0${planted}; ${cookie}`, `${cookie};\t\u00a0${planted}`]) {
          const { status, text } = await mandate.get('/me', { accept, cookie: both });
          expect([status, text.includes('Signed in as <bdi>ada</bdi>')]).to.deep.equal([200, true]);
        }
      });

      it('that does not count beside another one: 400, recorded and logged, and no redirect leads on', async () => {
        const [cookie, planted] = [await signedIn(), await signedIn(grace)];
        const headers = { accept: 'text/html', cookie: `${planted}; ${cookie}`, origin: mandate.issuer };
        const form = { method: 'POST', headers: { ...headers, ...FORM }, body: `form_token=${formToken(cookie)}` };
        const records = await mandate.recorded(async () => {
          for (const path of ['/me', '/me/resume']) {
            expectNotice(await mandate.get(path, headers), 400, 'Your browser sends two sign-ins');
          }
          expectNotice(await mandate.send('/me/tasks/stop', form), 400, 'Your browser sends two sign-ins');
          // It could not say whose session it has closed.
          expectNotice(await mandate.send('/me/sign-out', form), 400, 'Your browser sends two sign-ins');
        });
        expect(fieldsOf(records, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal(
          Array.from({ length: 4 }, () => ['me.denied', 'deny', 'missing_token', null]),
        );
        expect([await isSignedIn(mandate, cookie), await isSignedIn(mandate, planted)]).to.deep.equal([true, true]);
        const reported = () => mandate.log.lines.filter((line) => line.includes('several cookies of one session'));
        await eventually(async () => reported().length > 0);
        expect(reported().length).to.be.at.most(2);
        for (const line of reported()) {
          expect(JSON.parse(line)).to.include({ level: 'warn', cookie: SESSION });
          for (const each of [cookie, planted]) expect(line).not.to.include(each.slice(SESSION.length + 1));
        }
      });

      it('that another replica serves and closes, and whose secret the database does not hold', async () => {
        const cookie = await signedIn();
        const replica = await mandate.another({ 'Service:Issuer': mandate.issuer });
        expect(await isSignedIn(replica, cookie)).to.equal(true);
        expect((await signOut(replica, cookie)).status).to.equal(200);
        expect(await isSignedIn(mandate, cookie)).to.equal(false);
        await replica.stop();
      });

      it('that ends after the TTL without use, and is renewed by use for eight hours', async () => {
        const person = personBrowser(mandate);
        await person.signIn();
        const cookie = person.cookies();
        const idle = await signedIn();
        mandate.clock.advance(899);
        expect(await isSignedIn(mandate, cookie)).to.equal(true);
        mandate.clock.advance(2);
        expect(await isSignedIn(mandate, idle)).to.equal(false);
        for (let used = 901; used + 800 < 8 * 3600; used += 800) {
          mandate.clock.advance(800);
          expect(await isSignedIn(mandate, cookie), `after ${used} s`).to.equal(true);
        }
        mandate.clock.advance(800);
        expect(await isSignedIn(mandate, cookie)).to.equal(false);
        mandate.clock.advance(-(901 + Math.floor((8 * 3600 - 901) / 800) * 800 + 800));
      });

      it('that ends when a setting changes which says whom it names', async () => {
        const cookie = await signedIn();
        for (const [settings, isOpen] of [
          [{}, true],
          [{ 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' }, false],
          [{ 'Service:Me:ClientId': 'another-client' }, false],
          [{ 'Service:UpstreamIdp:Issuer': 'https://other.example' }, false],
        ] as const) {
          const changed = await mandate.another({ 'Service:Issuer': mandate.issuer, ...settings });
          expect(await isSignedIn(changed, cookie), JSON.stringify(settings)).to.equal(isOpen);
          await changed.stop();
        }
        expect(await isSignedIn(mandate, cookie)).to.equal(true);
      });

      it('new at each sign-in, and closes the earlier one of the browser', async () => {
        const person = personBrowser(mandate);
        await person.signIn();
        const first = person.cookies();
        await person.signIn();
        expect(person.cookies()).not.to.equal(first);
        expect(await isSignedIn(mandate, first)).to.equal(false);
        expect(await isSignedIn(mandate, person.cookies())).to.equal(true);
      });
    });

    describe('ends', () => {
      const everywhere = (cookie: string) =>
        postOwn(mandate, '/me/sign-out', cookie, { form_token: formToken(cookie), everywhere: 'yes' });

      it('with a sign-out everywhere, whose ID token the database does not hold in the clear, nor the log', async () => {
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

      it('with no form of another page, for a sign-out everywhere either', async () => {
        const cookie = await signedIn();
        const foreign = await postOwn(mandate, '/me/sign-out', cookie, { form_token: 'x', everywhere: 'yes' });
        expectNotice(foreign, 403, 'Nothing was changed');
        expect(opened(foreign)).to.equal(undefined);
        expect((await mandate.get('/me', { accept: 'text/html', cookie })).text).to.include('value="yes"');
        expect(await isSignedIn(mandate, cookie)).to.equal(true);
      });

      it('and the way back says so, or leads to the page who is still signed in', async () => {
        const cookie = await signedIn();
        for (const path of ['/me/signed-out', '/me/signed-out?state=x&error=y']) {
          expectNotice(await mandate.get(path), 200, 'Your organisation has sent you back here.');
          const led = await mandate.get(path, { cookie });
          expect([led.status, led.headers.get('location')]).to.deep.equal([302, '/me']);
        }
        expect((await mandate.send('/me/signed-out', { method: 'POST' })).status).to.equal(405);
      });

      it('with a sign-out, here alone', async () => {
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

      it("and leaves the cookie of a browser whose request does not bring it: another site's form comes without", async () => {
        const records = await mandate.recorded(async () => {
          for (const cookie of ['', '__Host-other=1', 'a=__Host-mandate-me=']) {
            const answer = await mandate.post('/me/sign-out', {}, { cookie, origin: 'https://evil.example' });
            expectNotice(answer, 200, 'You are signed out');
            expect(answer.headers.getSetCookie(), cookie).to.deep.equal([]);
          }
        });
        expect(records).to.deep.equal([]);
      });

      it('not by a write that another site could send, which is recorded', async () => {
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

      it('in one sign-in, if the logout comes before the browser is back', async () => {
        const person = personBrowser(mandate, grace);
        const address = await person.returnAddress();
        const iat = mandate.clock.seconds() + 30;
        const logout_token = page.provider.signLogoutToken({ aud: PAGE_CLIENT_ID, sub: 'grace', iat, exp: iat + 120 });
        expect((await mandate.post('/backchannel-logout', { logout_token })).status).to.equal(200);
        expectNotice(await person.finish(address), 400, 'You were signed out meanwhile');
        expect(person.cookies()).not.to.include(SESSION);
      });
    });

    it('names the person by the claim of the sponsor key', async () => {
      const settings = { 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' };
      const keyed = await startWithPage(database, settings);
      const person = personBrowser(keyed.mandate);
      expect((await person.signIn()).status).to.equal(302);
      const { text } = await keyed.mandate.get('/me', { accept: 'text/html', cookie: person.cookies() });
      expect(text).to.include(`Signed in as <bdi>${ada.claims?.oid}</bdi>`);
      await keyed.stop();
      const missing = await startWithPage(database, { 'Service:UpstreamIdp:SponsorKeyClaim': 'employee' });
      expectNotice(await personBrowser(missing.mandate).signIn(), 403, 'Your account cannot use this page');
      await missing.stop();
    });

    it('says that the provider is away, at its beginning and at its end', async () => {
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
  });
}
