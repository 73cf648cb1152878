/**
 * Operators' journeys in a real browser: signed in at a real provider, against the running service, on both databases. At
 * every push the tests of `test/system/console` hold the same over HTTP, and `test/system/console/sizes-browser.test.ts`
 * scans the screens.
 */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import {
  accessibilityFaults,
  closeBrowser,
  devices,
  expectSaid,
  screenshot,
  signedInPages,
} from '../../support/browser.ts';
import { type ConsoleWithProvider, operators, startWithConsole } from '../../support/console/operators-browser.ts';
import { databasesByLength } from '../../support/databases.ts';
import type { Person } from '../../support/identity-provider/people.ts';
import { fieldsOf, type RegisteredAgent } from '../../support/mandate.ts';

const DESKTOP: BrowserContextOptions = { ...devices.desktop };
const SMALL: BrowserContextOptions = { ...devices.phone, viewport: { width: 360, height: 740 } };

for (const database of databasesByLength) {
  describe(`An operator's browser on ${database.name}`, function () {
    this.timeout(120_000);
    let running: ConsoleWithProvider;
    let agent: RegisteredAgent;

    before(async () => {
      running = await startWithConsole(database);
      agent = await running.mandate.agent({ display_name: 'Jira triage' });
    });
    after(async () => {
      await closeBrowser();
      await running.stop();
    });

    const openSignedIn = signedInPages();
    const signedIn = (person: Person, options: BrowserContextOptions = DESKTOP) =>
      openSignedIn(running.origin, person, options);
    const shot = (page: Page, name: string) => screenshot(page, `${database.name} console ${name}`);
    const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click();

    it('ends a task from Now: within fifteen seconds the next refresh is refused', async () => {
      const grant = await agent.grant();
      const page = await signedIn(operators.both);
      await page.getByRole('heading', { level: 1, name: 'Now' }).waitFor();
      expect(await accessibilityFaults(page)).to.deep.equal([]);
      await shot(page, '1 now');
      const records = await running.mandate.recorded(async () => {
        const began = performance.now();
        await page
          .getByRole('link', { name: /^Stop task/ })
          .first()
          .click();
        await page.getByText('1 task ends').waitFor();
        expect(await page.locator('.consequences').textContent()).to.contain('may accept the last tokens until');
        expect(await accessibilityFaults(page)).to.deep.equal([]);
        await shot(page, '2 stop');
        await page.getByLabel(`Type ${agent.id} to confirm`).fill(agent.id);
        await page.getByLabel('Reason').fill('The agent loops, incident 4711');
        await press(page, 'End 1 task');
        await expectSaid(page, 'Ended 1 task.');
        const refused = await agent.refresh(grant);
        expect(refused.body).to.include({ error: 'access_denied', reason: 'task_revoked' });
        expect(performance.now() - began).to.be.lessThan(15_000);
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason').slice(0, 2)).to.deep.equal([
        ['task.revoked', 'allow', 'operator_kill_switch'],
        ['operator.acted', 'allow', null],
      ]);
      const detail = new URLSearchParams(String(records[1]?.detail));
      expect(Object.fromEntries(detail)).to.include({
        sub: 'olga',
        role: 'responder',
        act: 'DELETE /admin/tasks/{task_id}',
        seq: String(records[0]?.seq),
      });
      // What was done is said once, and no address says it.
      expect(page.url()).to.equal(`${running.origin}/`);
      await page.reload();
      await expectSaid(page, '');
      expect(await page.locator('table.counts').textContent()).to.contain('task_revoked');
      await shot(page, '3 denials');
      await page.context().close();
    });

    it('blocks a person and lifts the block, with the keyboard and without script', async () => {
      const grant = await agent.grant();
      const page = await signedIn(operators.responder, { ...SMALL, javaScriptEnabled: false });
      await page.goto(`${running.origin}/people`);
      await page.getByLabel('Person (sponsor key)').fill('ada');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 2, name: 'ada' }).waitFor();
      await page.getByLabel('Type ada to confirm').fill('ada');
      await page.keyboard.press('Tab');
      await page.keyboard.type('Account taken over, incident 4712');
      await page.keyboard.press('Enter');
      await expectSaid(page, 'Blocked. Ended 1 task.');
      expect((await agent.refresh(grant)).body.error).to.equal('access_denied');
      expect((await agent.exchange()).body.reason).to.equal('sponsor_disabled');
      await page.getByLabel('Reason').fill('The account is hers again');
      await press(page, 'Lift the block');
      await expectSaid(page, "Lifted the operators' block.");
      expect((await agent.exchange()).status).to.equal(200);
      await page.context().close();
    });

    for (const [look, options] of [
      ['dark', { ...SMALL, colorScheme: 'dark' }],
      ['light', { ...DESKTOP, colorScheme: 'light' }],
    ] as const) {
      it(`shows every screen without a fault that axe finds: ${look}`, async () => {
        await agent.grant();
        await running.mandate.block('grace', 'disabled');
        const page = await signedIn(operators.both, options);
        const all = [
          ['blocked person', '/people?sponsor=grace'],
          ['kill an agent', `/stop?agent_id=${agent.id}`],
          ['malformed', '/people?source=x'],
          ['now', '/'],
          ['people', '/people'],
          ['person', '/people?sponsor=ada'],
          ['kill switch', '/stop'],
          ['kill a person', '/stop?sponsor=ada'],
        ] as const;
        for (const [name, path] of all) {
          await page.goto(`${running.origin}${path}`);
          expect(await accessibilityFaults(page), `${name}, ${look}`).to.deep.equal([]);
          const [width = 0, seen = 0] = await page.evaluate<number[]>(
            '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
          );
          expect(width, `${name}, ${look}: scrolls sideways`).to.be.at.most(seen);
          await shot(page, `4 ${name} ${look}`);
        }
        await page.context().close();
      });
    }

    it('signs out here, and at the provider only if the operator asks; the provider then sends the operator back', async () => {
      const page = await signedIn(operators.viewer);
      await press(page, 'Sign out');
      await page.getByRole('heading', { name: 'You are signed out here' }).waitFor();
      // The provider still knows the operator.
      await page.getByRole('link', { name: 'Sign in' }).click();
      await page.waitForURL(`${running.origin}/`);
      await page.locator('summary', { hasText: 'Sign out everywhere' }).click();
      expect(await accessibilityFaults(page)).to.deep.equal([]);
      await press(page, 'Sign out here and at the identity provider');
      await page.waitForURL((url) => url.origin === running.operatorsProvider.issuer);
      await press(page, 'Sign out');
      await page.waitForURL(`${running.origin}/signed-out`);
      expect(await page.getByRole('heading').allTextContents()).to.deep.equal(['You are signed out']);
      await page.goto(running.origin);
      expect(await page.getByLabel('Password').isVisible()).to.equal(true);
      await page.context().close();
    });
  });
}
