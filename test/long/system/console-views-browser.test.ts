/** What `test/system/console/views.test.ts` holds over HTTP at every push, by mouse and keyboard in a real browser. */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { operatorRoles } from '../../../domain/operators/operator.ts';
import { accessibilityFaults, browse, closeBrowser, devices, screenshot } from '../../support/browser.ts';
import { type ConsoleService, type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { databasesByLength } from '../../support/databases.ts';
import type { RegisteredAgent } from '../../support/mandate.ts';

const START_LIMIT_MS = 120_000;

for (const database of databasesByLength) {
  describe(`the console's screens Delegation, Task and Agents in a browser on ${database.name}`, function () {
    this.timeout(120_000);
    let service: ConsoleService;
    let agent: RegisteredAgent;
    let live: string;
    let killed: string;
    let record: number;
    let operator: OperatorAtConsole;

    before(async function () {
      this.timeout(START_LIMIT_MS);
      service = await startConsole(database);
      const { mandate } = service;
      agent = await mandate.agent({ display_name: 'Jira triage' });
      live = String((await agent.exchange()).body.task_id);
      for (const sub of ['bob', 'carol']) await agent.exchangeFor({ sub });
      const other = await mandate.agent({ display_name: 'Mail sorter' });
      const { body } = await other.exchange();
      mandate.clock.advance(60);
      await other.refresh(String(body.refresh_token));
      killed = String(body.task_id);
      await mandate.admin('DELETE', `/admin/tasks/${killed}`);
      record = (await mandate.ledger()).find((line) => line.task_id === killed)?.seq ?? 0;
      await mandate.jobs.seal();
      operator = await service.signedIn(...operatorRoles);
    });
    after(async () => {
      await closeBrowser();
      await service.stop();
    });

    const open = async (path: string, options: BrowserContextOptions = {}, as = operator): Promise<Page> => {
      const context = await browse(options);
      const [name, value] = as.cookie;
      // Chromium sends a secure cookie to a loopback address over plain http, too.
      const url = service.origin.replace('http:', 'https:');
      await context.addCookies([{ name, value, url, secure: true, httpOnly: true, sameSite: 'Lax' }]);
      const page = await context.newPage();
      await page.goto(`${service.origin}${path}`);
      return page;
    };
    const close = (page: Page) => page.context().close();

    const paths = () =>
      ({
        delegation: '/delegation',
        'task-live': `/tasks/${live}`,
        'task-killed': `/tasks/${killed}`,
        agents: '/agents',
        agent: `/agents/${agent.id}`,
        record: `/tasks/${killed}/records/${record}`,
      }) as const;

    it('lead by keyboard alone from the picture to a task', async () => {
      const page = await open('/delegation', { ...devices.desktop, isMobile: false });
      const reached: string[] = [];
      for (let presses = 0; presses < 80 && !reached.some((to) => to.endsWith(live)); presses += 1) {
        await page.keyboard.press('Tab');
        const to = await page.evaluate<string>("document.activeElement.getAttribute('href') ?? ''");
        if (to.includes('/tasks/') || to.includes('/stop')) reached.push(to);
      }
      expect(reached).to.include(`/stop?agent_id=${agent.id}`);
      expect(reached.at(-1)).to.equal(`/tasks/${live}`);
      await page.keyboard.press('Enter');
      await page.getByText('Its time is up', { exact: false }).first().waitFor();
      expect(new URL(page.url()).pathname).to.equal(`/tasks/${live}`);
      await close(page);
    });

    it('act without script: an agent is disabled with a reason, and enabled again', async () => {
      const own = await service.mandate.agent({ display_name: 'Without script' });
      const page = await open(`/agents/${own.id}`, { javaScriptEnabled: false });
      for (const [act, state] of [
        ['Disable this agent', 'Disabled.'],
        ['Enable this agent', 'Enabled.'],
      ] as const) {
        await page.getByText(`${act}…`).click();
        await page.getByLabel('Reason').fill('incident 4711');
        await page.getByRole('button', { name: act, exact: true }).click();
        await page.getByRole('status').getByText(state).waitFor();
        expect(await page.locator('strong', { hasText: state }).count()).to.equal(1);
      }
      await close(page);
    });

    for (const javaScriptEnabled of [false, true]) {
      it(`compare a file ${javaScriptEnabled ? 'with' : 'without'} script`, async () => {
        const page = await open('/agents', { javaScriptEnabled });
        const text = [
          ...['agent_id: fresh', 'display_name: Fresh', 'allowed_scopes: [x]', 'max_delegation_depth: 1'],
          ...['allowed_audiences: [https://x.example]', 'jwks_uri: https://keys.example/jwks.json'],
        ].join('\n');
        const file = { name: 'agents.yaml', mimeType: 'application/yaml', buffer: Buffer.from(text) };
        await page.getByLabel('YAML file of agents').setInputFiles(file);
        await page.getByRole('button', { name: 'Compare' }).click();
        await page.getByText('the file would register it', { exact: false }).waitFor();
        if (javaScriptEnabled) {
          expect(await accessibilityFaults(page)).to.deep.equal([]);
          await screenshot(page, `console-comparison-${database.engine}`);
        }
        await close(page);
      });
    }

    it('show a viewer no way to change anything', async () => {
      const viewer = await service.signedIn('viewer');
      const { record: _, ...others } = paths();
      const page = await open('/agents', {}, viewer);
      for (const path of Object.values(others)) {
        expect((await page.goto(`${service.origin}${path}`))?.status(), path).to.equal(200);
        expect(await page.locator('a[href^="/stop"], form[action="/agent/disable"]').count(), path).to.equal(0);
      }
      await close(page);
    });
  });
}
