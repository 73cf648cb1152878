/** Sessions of people and operators at a process whose clock jumps (supplement "Clocks"). */

import { expect } from 'chai';
import { startConsole } from '../support/console/console-service.ts';
import { databasesByLength } from '../support/databases.ts';
import { personBrowser, startWithPage } from '../support/me/person-browser.ts';
import { movedClock } from '../support/moved-clock.ts';

import { AN_HOUR } from '../support/wrong-clock.ts';

for (const database of databasesByLength) {
  describe(`Sessions of a process on ${database.name} whose clock jumps`, function () {
    this.timeout(60_000);
    const clocks = () => {
      const world = movedClock();
      return { world, clock: world.ofAnotherMachine(), databaseClock: world };
    };

    it('of the page end by the later clock, and begin by the earlier one', async () => {
      const { world, ...times } = clocks();
      const { mandate, stop } = await startWithPage(database, {}, { times });
      const isSignedIn = async (cookie: string) => (await mandate.get('/me/callback', { cookie })).status === 302;
      const signIn = async () => {
        const person = personBrowser(mandate);
        expect((await person.signIn()).status).to.be.within(200, 303);
        return person.cookies();
      };
      const cookie = await signIn();
      expect(await isSignedIn(cookie)).to.equal(true);
      mandate.clock.jump(-600);
      world.advance(898);
      expect(await isSignedIn(cookie)).to.equal(true);
      world.advance(901);
      expect(await isSignedIn(cookie)).to.equal(false);

      mandate.clock.jump(600 + 300);
      const opened = await signIn();
      mandate.clock.jump(-300);
      expect(await isSignedIn(opened)).to.equal(true);
      world.advance(902);
      expect(await isSignedIn(opened)).to.equal(false);
      await stop();
    });

    it('of the console end only with the form token and a record, even if a wrong clock says that they are over', async () => {
      const { world, ...times } = clocks();
      const logout = { 'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk' };
      const { mandate, signedIn, stop } = await startConsole(database, logout, times);
      const [own, other] = [await signedIn('viewer'), await signedIn('auditor')];
      const ahead = 13 * AN_HOUR;
      mandate.clock.jump(ahead);
      const isOpen = async ({ open }: typeof own) => {
        mandate.clock.jump(-ahead);
        const { status } = await open('/');
        mandate.clock.jump(ahead);
        return status === 200;
      };
      const forged = await mandate.recorded(() => own.submit('/sign-out', { form_token: 'x' }));
      expect([forged, await isOpen(own)]).to.deep.equal([[], true]);

      const lines = await mandate.recorded(async () => {
        expect((await own.submit('/sign-out', {})).status).to.equal(200);
        const iat = mandate.clock.seconds();
        const sub = 'olga-auditor';
        const logout_token = mandate.provider.signLogoutToken({ sub, aud: 'console', iat, exp: iat + 100 });
        expect((await mandate.post('/backchannel-logout', { logout_token })).status).to.equal(200);
      });
      expect([await isOpen(own), await isOpen(other)]).to.deep.equal([false, false]);
      const signedOut = lines.filter(({ event }) => event === 'operator.signed_out');
      const detail = ({ detail: said }: (typeof lines)[number]) => new URLSearchParams(String(said)).get('sub');
      expect(signedOut.map(detail)).to.deep.equal(['olga-viewer', 'olga-auditor']);

      // Over by every clock: the session was not ended on purpose.
      mandate.clock.jump(-ahead);
      const late = await signedIn('registrar');
      world.advance(ahead);
      expect(await mandate.recorded(() => late.submit('/sign-out', {}))).to.deep.equal([]);
      await stop();
    });
  });
}
