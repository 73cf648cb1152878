/**
 * *Now* renews itself in a real browser. The test moves the clocks of the page and of the service. At every push
 * `test/system/console/roles.test.ts` holds over HTTP what each role sees. Only this test runs the script that renews.
 */

import { expect } from 'chai';
import type { BrowserContextOptions, Page, Route } from 'playwright-core';
import type { OperatorRole } from '../../../domain/operators/operator.ts';
import {
  accessibilityFaults,
  accessibilityFaultsByLength,
  browse,
  closeBrowser,
  devices,
  screenshot,
} from '../../support/browser.ts';
import { type ConsoleService, startConsole } from '../../support/console/console-service.ts';
import { databasesByLength } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { byLength } from '../../support/length.ts';
import type { RegisteredAgent } from '../../support/mandate.ts';

const RENEWAL_MS = 15_000;
/** The page waits for an answer for this long. */
const ANSWER_MS = 10_000;
/** Ways to fail whose page axe looks at: all show the same words. */
const SCANNED = byLength({ short: ['refused'], full: ['refused', 'failing', 'silent'] });

for (const database of databasesByLength) {
  describe(`the screen Now, left open in a browser, on ${database.name}`, function () {
    this.timeout(120_000);
    let service: ConsoleService;
    let agent: RegisteredAgent;

    before(async () => {
      service = await startConsole(database);
      agent = await service.mandate.agent({ display_name: 'Jira triage' });
    });
    after(async () => {
      await closeBrowser();
      await service.stop();
    });
    beforeEach(async () => {
      await service.mandate.sql('delete from sponsor_blocks');
      for (const sub of ['ada', 'bob']) await service.mandate.admin('DELETE', `/admin/sponsors/${sub}/tasks`);
    });

    const start = async (sub = 'ada') => String((await agent.exchangeFor({ sub })).body.task_id);
    const end = (task: string) => service.mandate.admin('DELETE', `/admin/tasks/${task}`);
    /** The page's own clock runs until the test moves it. */
    const open = async (roles: readonly OperatorRole[], options: BrowserContextOptions = {}): Promise<Page> => {
      const context = await browse({ ...devices.desktop, ...options });
      const [name, value] = (await service.signedIn(...roles)).cookie;
      // Chromium sends a secure cookie to a loopback address over plain http, too.
      const url = service.origin.replace('http:', 'https:');
      await context.addCookies([{ name, value, url, secure: true, httpOnly: true, sameSite: 'Lax' }]);
      const page = await context.newPage();
      await page.clock.install();
      await page.goto(service.origin);
      return page;
    };
    const close = (page: Page) => page.context().close();
    const renew = async (page: Page) => {
      const answer = page.waitForResponse(`${service.origin}/now`);
      await page.clock.fastForward(RENEWAL_MS);
      await answer;
    };
    const live = (page: Page) => page.locator('[aria-labelledby=live] .value').innerText();
    const row = (page: Page, task: string) => page.locator(`[id="${task}"]`);
    const isSo = (read: () => Promise<unknown>, expected: unknown) =>
      eventually(async () => (await read()) === expected, 20);

    it('shows new tasks, blocks and denials without another load, and keeps what the stream showed', async () => {
      const first = await start();
      const page = await open(['auditor', 'responder']);
      await page.evaluate('window.loadedOnce = true');
      await page.getByText('Live', { exact: true }).waitFor();
      expect(await live(page)).to.equal('1');
      const second = await start('bob');
      await service.mandate.block('grace', 'disabled');
      await agent.exchange({ resource: 'https://elsewhere.example' });
      await page.locator('#stream li').first().waitFor();
      await renew(page);
      await isSo(() => live(page), '2');
      expect(await page.locator('[aria-labelledby=blocked] .value').innerText()).to.equal('1');
      expect(await page.locator('#denials-table').innerText()).to.include('audience_not_allowed');
      expect(await page.locator('.tasks tbody tr').evaluateAll((rows) => rows.map(({ id }) => id))).to.deep.equal([
        second,
        first,
      ]);
      expect(await page.locator('#stream li').count()).to.be.greaterThan(0);
      expect(await page.evaluate('window.loadedOnce')).to.equal(true);
      expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
      await close(page);
    });

    it('keeps the focus where it is, and gives it to no other task when its task ends', async () => {
      const [first, second] = [await start(), await start()];
      const page = await open(['responder']);
      const focused = () => page.evaluate('document.activeElement.textContent');
      const place = () => page.evaluate('document.activeElement.id');
      await row(page, first).getByRole('link', { name: /^Stop/ }).focus();
      await start();
      await renew(page);
      await isSo(() => live(page), '3');
      expect(await focused()).to.equal(`Stop task ${first}`);
      // The person has one link in each row.
      await row(page, first).getByRole('link', { name: 'ada' }).focus();
      await end(second);
      await renew(page);
      await isSo(() => live(page), '2');
      expect(await page.evaluate("document.activeElement.closest('tr').id")).to.equal(first);
      await end(first);
      await renew(page);
      await isSo(() => live(page), '1');
      expect(await place()).to.equal('tasks-table');
      await service.mandate.admin('DELETE', '/admin/sponsors/ada/tasks');
      await renew(page);
      await isSo(() => live(page), '0');
      expect(await place()).to.equal('newest-tasks');
      expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
      await close(page);
    });

    it('waits while the page is hidden, and is renewed as soon as it is seen', async () => {
      const page = await open(['viewer']);
      let asked = 0;
      page.on('request', (request) => {
        if (request.url() === `${service.origin}/now`) asked += 1;
      });
      const see = (visibility: string) =>
        page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${visibility}', configurable: true });
          document.dispatchEvent(new Event('visibilitychange'));`);
      await see('hidden');
      await page.clock.runFor(10 * RENEWAL_MS);
      expect(asked).to.equal(0);
      await start();
      await see('visible');
      await isSo(() => live(page), '1');
      expect(asked).to.equal(1);
      await close(page);
    });

    it('says when the service cannot be reached or fails, and goes on as soon as it answers', async () => {
      const page = await open(['viewer']);
      const offline = page.locator('#offline');
      const failures: Readonly<Record<string, (route: Route) => unknown>> = {
        refused: (route) => route.abort(),
        failing: (route) => route.fulfill({ status: 503 }),
        silent: () => undefined,
      };
      for (const [how, fail] of Object.entries(failures)) {
        expect(await offline.isVisible(), how).to.equal(false);
        await page.route('**/now', fail);
        const asked = page.waitForRequest('**/now');
        await page.clock.fastForward(RENEWAL_MS);
        await asked;
        await page.clock.fastForward(ANSWER_MS);
        await offline.waitFor();
        expect(await offline.innerText()).to.include('could not be renewed');
        if (SCANNED.includes(how)) expect(await accessibilityFaults(page)).to.deep.equal([]);
        await screenshot(page, `${database.name} console now offline`);
        await page.unroute('**/now');
        await page.clock.fastForward(RENEWAL_MS);
        await offline.waitFor({ state: 'hidden' });
      }
      await close(page);
    });

    it('prolongs no session: it ends 15 minutes after the last page, and then nothing is shown', async () => {
      const { clock } = service.mandate;
      await start();
      const page = await open(['auditor', 'responder']);
      try {
        clock.advance(14 * 60);
        await renew(page);
        await page.locator('#figures time').first().waitFor();
        expect(await page.getByRole('alert').count()).to.equal(0);
        clock.advance(2 * 60);
        await page.clock.fastForward(RENEWAL_MS);
        await page.getByRole('alert').waitFor();
      } finally {
        clock.advance(-16 * 60);
      }
      expect(await page.getByRole('alert').innerText()).to.include('Your session has ended');
      expect(await page.locator('#figures, #newest-tasks, #stream').count()).to.equal(0);
      expect(await page.locator('header').innerText()).not.to.include('olga');
      expect(await accessibilityFaults(page)).to.deep.equal([]);
      await screenshot(page, `${database.name} console now session over`);
      await close(page);
    });

    it('shows a role only its own parts: denials to auditors, stops to responders', async () => {
      await start();
      for (const [role, parts] of [
        ['viewer', [false, false]],
        ['auditor', [true, false]],
        ['responder', [false, true]],
      ] as const) {
        const operator = await service.signedIn(role);
        const { status, headers, text } = await operator.open('/now');
        expect([status, headers.get('cache-control')], role).to.deep.equal([200, 'no-store']);
        expect([text.includes('id="denials"'), text.includes('/stop?')], role).to.deep.equal(parts);
      }
      const refused = await (await service.signedIn('viewer')).open('/now?x=1');
      expect([refused.status, JSON.parse(refused.text).errors]).to.deep.equal([
        400,
        { x: ['Is not a parameter here.'] },
      ]);
    });

    it('shows the same without script, and never the words of the script', async () => {
      await start();
      const page = await open(['auditor'], { javaScriptEnabled: false });
      expect(await live(page)).to.equal('1');
      expect(await page.locator('#offline, #stream').evaluateAll((hidden) => hidden.length)).to.equal(2);
      for (const part of ['#offline', '#stream']) expect(await page.locator(part).isVisible(), part).to.equal(false);
      await close(page);
    });
  });
}
