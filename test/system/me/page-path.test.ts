/** The person's page in a real browser, under an issuer with a path. */

import { expect } from 'chai';
import { browse, closeBrowser, signIn } from '../../support/browser.ts';
import { databasesByLength } from '../../support/databases.ts';
import { type PageWithProvider, startWithPage } from '../../support/me/person-browser.ts';

for (const database of databasesByLength) {
  describe(`The person's page under an issuer with a path, on ${database.name}`, function () {
    this.timeout(120_000);
    let running: PageWithProvider;
    before(async () => {
      running = await startWithPage(database, {}, { issuerPath: '/tenants/one' });
    });
    after(async () => {
      await closeBrowser();
      await running.stop();
    });

    it('has every link, form, file and redirect below that path, from the sign-in to the sign-out', async () => {
      const { mandate } = running;
      const agent = await mandate.agent({ display_name: 'Jira triage' });
      // More tasks than the first page lists.
      for (let count = 0; count < 6; count += 1) await agent.exchange();
      const page = await (await browse()).newPage();
      /** The service answers without its path too, but a proxy in front may not. */
      const outside: string[] = [];
      const failed: string[] = [];
      page.on('response', (response) => {
        const address = response.url();
        if (!address.startsWith(new URL(mandate.issuer).origin)) return;
        if (!address.startsWith(`${mandate.issuer}/me`)) outside.push(address);
        if (response.status() >= 400) failed.push(address);
      });
      await page.goto(`${mandate.issuer}/me`);
      await signIn(page);
      expect(page.url()).to.equal(`${mandate.issuer}/me`);
      await page.getByRole('link', { name: 'Jira triage' }).click();
      await page.locator('.task button').first().click();
      await page.getByText('1 task of Jira triage stopped.').waitFor();
      await page.getByRole('link', { name: 'Back to my tasks' }).click();
      await page.getByRole('button', { name: 'Stop all 5 tasks of Jira triage' }).click();
      await page.getByText('5 tasks of Jira triage stopped.').waitFor();
      await page.goto(`${mandate.issuer}/me/ended`);
      await page.getByRole('link', { name: 'Back to my tasks' }).click();
      await page.locator('summary', { hasText: 'Pause agents' }).click();
      await page.getByRole('button', { name: 'Pause all agents' }).click();
      await page.goto(`${mandate.issuer}/me/sign-in?to=resume`);
      await page.getByRole('button', { name: 'Let agents act for me again' }).click();
      expect(page.url()).to.equal(`${mandate.issuer}/me`);
      await page.getByRole('button', { name: 'Sign out everywhere' }).click();
      await page.waitForURL((url) => url.origin === mandate.provider.issuer);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL(`${mandate.issuer}/me/signed-out`);
      expect({ outside, failed }).to.deep.equal({ outside: [], failed: [] });
      await page.context().close();
    });
  });
}
