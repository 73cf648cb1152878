import { expect } from 'chai';
import { eventually } from '../../../support/eventually.ts';
import { grace } from '../../../support/identity-provider/people.ts';
import { fieldsOf } from '../../../support/mandate.ts';
import { personBrowser } from '../../../support/me/person-browser.ts';
import type { Site } from './site.ts';
import { expectNotice, FORM, formToken, isSignedIn, SESSION, signOut } from './site.ts';

export function testOpenedSessions(site: Site): void {
  const { signedIn } = site;

  describe('opens a session', () => {
    it('that counts only if exactly one cookie names it, in the exact form', async () => {
      const { mandate } = site;
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

    it('that does not count beside another session cookie: 400, recorded and logged, and no redirect', async () => {
      const { mandate } = site;
      const [cookie, planted] = [await signedIn(), await signedIn(grace)];
      const headers = { accept: 'text/html', cookie: `${planted}; ${cookie}`, origin: mandate.issuer };
      const form = { method: 'POST', headers: { ...headers, ...FORM }, body: `form_token=${formToken(cookie)}` };
      const records = await mandate.recorded(async () => {
        expectNotice(await mandate.get('/me', headers), 400, 'Your browser sends two sign-ins');
        // It could not say whose session it has closed.
        expectNotice(await mandate.send('/me/sign-out', form), 400, 'Your browser sends two sign-ins');
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal(
        Array.from({ length: 2 }, () => ['me.denied', 'deny', 'missing_token', null]),
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
      const { mandate } = site;
      const cookie = await signedIn();
      const replica = await mandate.another({ 'Service:Issuer': mandate.issuer });
      expect(await isSignedIn(replica, cookie)).to.equal(true);
      expect((await signOut(replica, cookie)).status).to.equal(200);
      expect(await isSignedIn(mandate, cookie)).to.equal(false);
      await replica.stop();
    });

    it('that ends after the TTL without use, and is renewed by use for eight hours', async () => {
      const { mandate } = site;
      // The sessions are used a second before their end.
      mandate.clock.standStill();
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

    it('that ends when a setting changes that decides which person it names', async () => {
      const { mandate } = site;
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

    it('that is new at each sign-in, and closes the earlier one of the browser', async () => {
      const { mandate } = site;
      const person = personBrowser(mandate);
      await person.signIn();
      const first = person.cookies();
      await person.signIn();
      expect(person.cookies()).not.to.equal(first);
      expect(await isSignedIn(mandate, first)).to.equal(false);
      expect(await isSignedIn(mandate, person.cookies())).to.equal(true);
    });
  });
}
