/**
 * A person refuses an agent's handing-over in a real browser, and allows it again after another sign-in. At every push
 * `test/system/me/delegation-page.test.ts` holds the same over HTTP.
 */

import { expect } from 'chai';
import { accessibilityFaultsByLength, expectSaid, PROVIDERS_COOKIE, signIn } from '../../../support/browser.ts';
import { databasesByLength } from '../../../support/databases.ts';
import { ada } from '../../../support/identity-provider/people.ts';
import { fieldsOf } from '../../../support/mandate.ts';
import { pageInBrowser } from './page/site.ts';

for (const database of databasesByLength) {
  describe(`The choice of handing work over, in a browser on ${database.name}`, function () {
    this.timeout(120_000);
    const site = pageInBrowser(database, { 'Service:Delegation:Enabled': 'true' });
    const { press, shot, signedIn, task } = site;

    it('is refused at the page of the agent, and allowed again only after another sign-in', async () => {
      const { mandate, triage } = site;
      await task(triage);
      const page = await signedIn();
      await page.getByRole('link', { name: 'Handing work to other agents' }).click();
      expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
      await shot(page, 'delegation 1 choice');
      const records = await mandate.recorded(async () => {
        await press(page, 'May not hand work to other agents');
        await expectSaid(page, 'Jira triage may not hand work to other agents any more.');
        await shot(page, 'delegation 2 refused');

        // The sign-in is now too old for this service. The provider has forgotten the person, so it asks again.
        mandate.clock.advance(400);
        await page.context().clearCookies({ name: PROVIDERS_COOKIE });
        await page.reload();
        await page.getByRole('link', { name: 'May hand work over again' }).click();
        await page.getByLabel('Password').waitFor();
        mandate.clock.advance(-400);
        await signIn(page);
        expect(page.url()).to.equal(`${mandate.issuer}/me/delegation`);
        expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
        await shot(page, 'delegation 3 list');
        await press(page, 'May hand work over again');
        await expectSaid(page, 'The agent may hand work to other agents again.');
        await page.getByText('You refuse it to no agent.').waitFor();
      });
      expect(fieldsOf(records, 'event', 'sponsor', 'detail')).to.deep.equal([
        ['delegation.refused', ada.username, `agent=${triage.id}`],
        ['delegation.allowed', ada.username, `agent=${triage.id}`],
      ]);
      await page.context().close();
    });
  });
}
