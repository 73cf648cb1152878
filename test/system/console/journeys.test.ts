/** Operators' journeys in a real browser: signed in at a real provider, against the running service, on both databases. */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import {
  accessibilityFaults,
  closeBrowser,
  devices,
  expectSaid,
  looksByLength,
  screenshot,
  signedInPages,
} from '../../support/browser.ts';
import {
  type ConsoleWithProvider,
  operators,
  signedInOperator,
  startWithConsole,
} from '../../support/console/operators-browser.ts';
import { databasesByLength } from '../../support/databases.ts';
import type { Person } from '../../support/identity-provider/people.ts';
import { byLength } from '../../support/length.ts';
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

    it('ends all tasks of a person or of an agent only after the name was typed', async () => {
      const [first, second] = [await agent.grant(), await agent.grant()];
      const page = await signedIn(operators.responder);
      await page.getByRole('link', { name: 'Kill switch' }).click();
      await page.getByLabel('Person (sponsor key)').fill('ada');
      await page.getByRole('button', { name: 'Look first' }).first().click();
      await page.getByText('2 tasks end').waitFor();
      await page.getByLabel('Type ada to confirm').fill('grace');
      await page.getByLabel('Reason').fill('Ada lost her laptop');
      await press(page, 'End 2 tasks');
      await page.getByRole('heading', { name: 'What you typed is not what the form asks for' }).waitFor();
      expect(await accessibilityFaults(page)).to.deep.equal([]);
      await shot(page, '4 refused form');
      expect(await page.getByLabel('Type ada to confirm').inputValue()).to.equal('grace');
      await page.getByLabel('Type ada to confirm').fill('ada');
      // The reason is still there.
      await press(page, 'End 2 tasks');
      await expectSaid(page, 'Ended 2 tasks.');
      for (const grant of [first, second]) expect((await agent.refresh(grant)).body.reason).to.equal('task_revoked');

      const third = await agent.grant();
      await page.goto(`${running.origin}/stop?agent_id=${agent.id}`);
      await page.getByLabel(`Type ${agent.id} to confirm`).fill(agent.id);
      await page.getByLabel('Reason').fill('The agent was replaced');
      await press(page, 'End 1 task');
      await expectSaid(page, 'Ended 1 task.');
      expect((await agent.refresh(third)).body.reason).to.equal('task_revoked');
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

    it('shows every screen without a fault that axe finds, in light and dark, and on a narrow phone', async () => {
      await agent.grant();
      await running.mandate.block('grace', 'disabled');
      for (const [look, options] of looksByLength([
        ['dark', { ...SMALL, colorScheme: 'dark' }],
        ['light', { ...DESKTOP, colorScheme: 'light' }],
      ] as const)) {
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
        // At every push sizes-browser.test.ts scans the others, and test/docs/console-pictures.test.ts sees whether screens fit
        // a phone.
        for (const [name, path] of byLength({ short: all.slice(0, 3), full: [...all] })) {
          await page.goto(`${running.origin}${path}`);
          expect(await accessibilityFaults(page), `${name}, ${look}`).to.deep.equal([]);
          const [width = 0, seen = 0] = await page.evaluate<number[]>(
            '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
          );
          expect(width, `${name}, ${look}: scrolls sideways`).to.be.at.most(seen);
          await shot(page, `4 ${name} ${look}`);
        }
        await page.context().close();
      }
    });

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

    it('ends a session after 15 minutes without use, and after 8 hours in any case', async () => {
      const { clock } = running.mandate;
      const idle = await signedInOperator(running, operators.viewer);
      clock.advance(14 * 60);
      expect((await idle.get('/people')).status).to.equal(200);
      clock.advance(15 * 60);
      expect((await idle.get('/people')).headers.get('location')).to.equal('/sign-in');
      clock.advance(-29 * 60);
      const busy = await signedInOperator(running, operators.viewer);
      for (let minutes = 0; minutes < 8 * 60; minutes += 12) {
        expect((await busy.get('/people')).status, `after ${minutes} minutes`).to.equal(200);
        clock.advance(12 * 60);
      }
      expect((await busy.get('/people')).headers.get('location')).to.equal('/sign-in');
      clock.advance(-8 * 60 * 60);
    });
  });

  describe(`Operators of another provider on ${database.name}`, function () {
    this.timeout(120_000);
    let running: ConsoleWithProvider;
    before(async () => {
      running = await startWithConsole(database, {}, { hasOwnProvider: true });
    });
    after(() => running.stop());

    it("sign in there, and the provider's logout ends their sessions and no task", async () => {
      const { mandate, operatorsProvider } = running;
      const agent = await mandate.agent();
      const grant = await agent.grant();
      const { get } = await signedInOperator(running, operators.viewer);
      expect((await get('/')).status).to.equal(200);
      const token = operatorsProvider.signLogoutToken({ aud: 'mandate-console', sub: 'vera', sid: undefined });
      const records = await mandate.recorded(async () => {
        expect((await mandate.post('/backchannel-logout', { logout_token: token })).status).to.equal(200);
      });
      expect(fieldsOf(records, 'event', 'reason', 'sponsor')).to.deep.equal([
        ['sponsor.signal', 'sponsor_logged_out', null],
        ['operator.signed_out', null, null],
      ]);
      const detail = new URLSearchParams({ iss: operatorsProvider.issuer, sub: 'vera', role: 'viewer' });
      expect(records[1]?.detail).to.equal(detail.toString());
      expect((await get('/')).headers.get('location')).to.equal('/sign-in');
      expect((await agent.refresh(grant)).status).to.equal(200);
    });

    it('refuses their logout tokens for another client, and those that the other provider signs', async () => {
      const { mandate, operatorsProvider, provider } = running;
      const tokens = [
        operatorsProvider.signLogoutToken({ aud: 'another-client', sub: 'vera', sid: undefined }),
        provider.signLogoutToken({ aud: 'mandate-console', sub: 'vera', sid: undefined }),
        provider.signLogoutToken({
          iss: operatorsProvider.issuer,
          aud: 'mandate-console',
          sub: 'vera',
          sid: undefined,
        }),
      ];
      for (const token of tokens) {
        expect((await mandate.post('/backchannel-logout', { logout_token: token })).status).to.equal(400);
      }
      const reasons = fieldsOf(await mandate.ledger(), 'event', 'reason').filter(
        ([event]) => event === 'signal.denied',
      );
      expect(reasons.length).to.be.greaterThan(0);
    });
  });
}
