/** Two operators at the console, both of whom must ask before a block is lifted. */

import { expect } from 'chai';
import {
  type ConsoleWithProvider,
  operators,
  signedInOperator,
  startWithConsole,
} from '../../support/console/operators-browser.ts';
import { databasesByLength } from '../../support/databases.ts';
import { fieldsOf } from '../../support/mandate.ts';

for (const database of databasesByLength) {
  describe(`Two operators at the console on ${database.name}`, function () {
    this.timeout(120_000);
    let running: ConsoleWithProvider;
    before(async () => {
      running = await startWithConsole(database, { 'Service:Operators:TwoPersonUnblock': 'true' });
    });
    after(() => running.stop());

    const block = (key: string) => running.mandate.admin('PUT', `/admin/sponsors/${key}/block`);
    const isBlocked = async (key: string) =>
      (await running.mandate.admin('GET', `/admin/sponsors/${key}`)).status === 200;

    it('must both ask before a block is lifted, and the page says so to the first', async () => {
      const [rosa, otto] = [
        await signedInOperator(running, operators.responder),
        await signedInOperator(running, operators.second),
      ];
      await block('grace');
      const form = { sponsor_key: 'grace', reason: 'Her account is hers again' };
      const saysPending = async () =>
        (await otto.get('/people?sponsor=grace')).text.includes('A second, different operator must ask as well, until');
      expect(await saysPending()).to.equal(false);
      for (let times = 0; times < 2; times += 1) {
        const first = await rosa.post('/people/unblock', form);
        expect([first.status, first.headers.get('location')]).to.deep.equal([303, '/people?sponsor=grace']);
        expect(first.headers.getSetCookie().join()).to.contain('unblock_pending.0');
        expect(await isBlocked('grace')).to.equal(true);
      }
      // Each page that is read keeps the session for another quarter of an hour.
      for (let minutes = 0; minutes < 60; minutes += 12) {
        expect(await saysPending()).to.equal(true);
        await rosa.get('/');
        running.mandate.clock.advance(12 * 60);
      }
      expect(await saysPending()).to.equal(false);
      expect((await rosa.post('/people/unblock', form)).headers.getSetCookie().join()).to.contain('unblock_pending.0');
      expect((await otto.post('/people/unblock', form)).headers.getSetCookie().join()).to.contain('unblocked.0');
      expect(await isBlocked('grace')).to.equal(false);
      const gone = await otto.post('/people/unblock', form);
      expect([gone.status, gone.text.includes('This person is not blocked')]).to.deep.equal([404, true]);
    });

    it('see who placed the block and why, the second one too; a responder does not before the first has asked', async () => {
      const [rosa, otto] = [
        await signedInOperator(running, operators.responder),
        await signedInOperator(running, operators.second),
      ];
      const viewer = await signedInOperator(running, operators.viewer);
      const placed = await rosa.post('/people/block', {
        sponsor_key: 'heidi',
        typed: 'heidi',
        reason: 'Stolen laptop',
      });
      expect(placed.status).to.equal(303);
      const shown = async ({ get }: typeof rosa) => {
        const { text } = await get('/people?sponsor=heidi');
        return [/Block of the person by <strong[^>]*>(.*?)<\/strong>/.test(text), text.includes('Stolen laptop')];
      };
      expect(await shown(otto)).to.deep.equal([false, false]);
      await rosa.post('/people/unblock', { sponsor_key: 'heidi', reason: 'The laptop is back' });
      expect(await shown(otto)).to.deep.equal([true, true]);
      expect(await shown(viewer)).to.deep.equal([false, false]);
      expect((await viewer.get('/people?sponsor=heidi')).text).to.include('Auditors can read who placed');
      expect((await otto.get('/people?sponsor=heidi')).text).not.to.include('Auditors can read who placed');
    });

    it('cannot lift a block of themselves: refused, recorded, and the block stays', async () => {
      const rosa = await signedInOperator(running, operators.responder);
      await block('rosa');
      const records = await running.mandate.recorded(async () => {
        const answer = await rosa.post('/people/unblock', { sponsor_key: 'rosa', reason: 'It is a mistake' });
        expect([answer.status, answer.text.includes('You may not lift this block')]).to.deep.equal([403, true]);
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason')).to.deep.equal([
        ['sponsor.unblocked', 'deny', 'operator_is_sponsor'],
        ['operator.acted', 'allow', null],
      ]);
      expect(await isBlocked('rosa')).to.equal(true);
    });
  });
}
