/** The person's page in a real browser, under an issuer with a path. */

import { expect } from 'chai';
import { browse, closeBrowser, signIn } from '../../support/browser.ts';
import { sqliteFile } from '../../support/databases.ts';
import { type PageWithProvider, startWithPage } from '../../support/me/person-browser.ts';

describe("The person's page under an issuer with a path", function () {
  this.timeout(30_000);
  let running: PageWithProvider;
  before(async () => {
    running = await startWithPage(sqliteFile, {}, { issuerPath: '/tenants/one' });
  });
  after(async () => {
    await closeBrowser();
    await running.stop();
  });

  it('has every link, form, file and redirect below that path, from the sign-in to the sign-out', async () => {
    const { mandate } = running;
    const agent = await mandate.agent({ display_name: 'Jira triage' });
    await agent.exchange();
    const page = await (await browse()).newPage();
    const failed: string[] = [];
    page.on('response', (response) => {
      if (response.url().startsWith(new URL(mandate.issuer).origin) && response.status() >= 400)
        failed.push(response.url());
    });
    await page.goto(`${mandate.issuer}/me`);
    await signIn(page);
    expect(page.url()).to.equal(`${mandate.issuer}/me`);
    await page.getByRole('button', { name: 'Jira triage' }).click();
    await page.getByText('1 task stopped.').waitFor();
    await page.locator('summary', { hasText: 'Pause agents' }).click();
    await page.getByRole('button', { name: 'Pause all agents' }).click();
    await page.getByRole('link', { name: 'Let agents act again' }).click();
    await page.getByRole('button', { name: 'Let agents act for me again' }).click();
    expect(page.url()).to.equal(`${mandate.issuer}/me`);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL((url) => url.origin === mandate.provider.issuer);
    expect(failed).to.deep.equal([]);
    await page.context().close();
  });
});
