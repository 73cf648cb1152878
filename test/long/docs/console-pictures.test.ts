/**
 * The pictures of docs/console-pictures.md: every screen of a running console, light and dark. `PICTURES=docs` takes
 * those of the page again; otherwise, at full length, they go to `.mandate/screenshots`. Each screen is checked on a phone,
 * and at full length on a desk with axe. At every push test/system/console/sizes-browser.test.ts scans each screen on a desk.
 */

import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { screens } from '../../../adapters/http/console/screens.ts';
import { freePort } from '../../../scripts/free-port.ts';
import {
  accessibilityFaults,
  browse,
  closeBrowser,
  devices,
  looksByLength,
  screenshot,
} from '../../support/browser.ts';
import { type ConsoleService, type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { sqliteFile } from '../../support/databases.ts';
import { byLength } from '../../support/length.ts';
import { type RegisteredAgent, WIKI } from '../../support/mandate.ts';
import { approvalSettings, askingServer, asks, digestOf } from '../../support/tool-server/approval-request.ts';

const at = (path: string) => fileURLToPath(new URL(`../../../docs/${path}`, import.meta.url));
const isForDocs = process.env.PICTURES === 'docs';
const isScanned = byLength({ short: false, full: true });
const schemes = ['light', 'dark'] as const;
type ScreenName = keyof typeof screens;
const names = Object.keys(screens) as ScreenName[];
/** Those of the README, which end at the edge of the screen. */
const firstScreens: Partial<Record<ScreenName, string>> = { now: 'pictures/console-first-screen.png' };
const pictureOf = (name: string, scheme: string) => `pictures/console-${name}-${scheme}.png`;

describe('The pictures of the console', function () {
  this.timeout(240_000);
  let running: ConsoleService;
  let operator: OperatorAtConsole;
  let addresses: Readonly<Record<ScreenName, string>>;
  let keys: string;
  let decide: () => Promise<unknown>;

  before(async () => {
    const port = await freePort();
    const clock = { issuer: () => running.mandate.issuer, now: () => running.mandate.clock.seconds() };
    const wiki = await askingServer(WIKI, clock);
    const settings = { PORT: String(port), 'Service:Issuer': `http://127.0.0.1:${port}`, ...approvalSettings(wiki) };
    running = await startConsole(sqliteFile, { ...settings, 'Service:Me:ClientId': 'the-page' });
    const { mandate } = running;
    await mandate.untilReady();
    const agents = [
      await mandate.agent({ agent_id: 'jira-triage', display_name: 'Jira triage', max_task_ttl: 'PT1H' }),
      await mandate.agent({ agent_id: 'travel-planner', display_name: 'Travel planner' }),
      await mandate.agent({ agent_id: 'release-notes', display_name: 'Release notes', high_risk_audiences: [WIKI] }),
    ] as const;
    const start = async (agent: RegisteredAgent, sub: string, resource?: string) => {
      const { body } = await agent.exchangeFor({ sub }, resource === undefined ? {} : { resource });
      return { id: String(body.task_id), grant: String(body.refresh_token) };
    };
    const [triage, travel, notes] = agents;
    const task = await start(triage, 'ada');
    for (const [agent, sub, resource] of [
      [travel, 'ada', undefined],
      [notes, 'ada', WIKI],
      [triage, 'grace', undefined],
      [travel, 'grace', WIKI],
    ] as const) {
      await start(agent, sub, resource);
    }
    mandate.clock.advance(200);
    await triage.refresh(task.grant, { scope: 'jira:read' });
    await triage.refresh(task.grant, { scope: 'jira:read jira:comment' });
    await triage.exchange({ resource: 'https://elsewhere.example' });
    await mandate.jobs.seal();
    mandate.clock.advance(60);
    await mandate.admin('PUT', '/admin/sponsors/mallory/block');
    await mandate.admin('DELETE', `/admin/tasks/${task.id}`);
    await mandate.jobs.seal();
    await start(notes, 'heidi');
    const { access_token: token, task_id: taskId } = (await notes.exchangeFor({ sub: 'grace' }, { resource: WIKI }))
      .body;
    for (const [nth, answer] of (['approve', 'refuse', undefined] as const).entries()) {
      const page = { label: 'Page', value: ['Road map', 'Home', 'Release 7'][nth] };
      const words = { title: 'Delete a page', lines: [page], digest: digestOf(String(nth)) };
      const { approval_id: id } = (await asks(mandate, token, wiki.request(taskId, words))).body;
      if (answer !== undefined) await mandate.answer(String(id), answer);
      mandate.clock.advance(20);
    }
    mandate.clock.advance(20);
    decide = async () => {
      for (const scope of ['jira:read', 'jira:delete']) await travel.exchangeFor({ sub: 'heidi' }, { scope });
    };
    keys = (await mandate.get('/.well-known/jwks.json')).text;
    operator = await running.signedIn('auditor', 'registrar', 'responder');
    const [first] = (await mandate.ledger()).filter(({ task_id }) => task_id === task.id);
    addresses = {
      now: '/',
      tasks: '/tasks',
      delegation: '/delegation',
      agents: '/agents',
      agent: `/agents/${triage.id}`,
      task: `/tasks/${task.id}`,
      record: `/tasks/${task.id}/records/${first?.seq}`,
      people: '/people',
      approvals: '/approvals',
      ledger: '/ledger',
      checkpoints: '/ledger/checkpoints',
      doctor: '/doctor',
      stop: '/stop',
    };
  });
  after(async () => {
    await closeBrowser();
    await running.stop();
  });

  const signedIn = async (options: object): Promise<Page> => {
    const context = await browse({ ...devices.desktop, deviceScaleFactor: 1, ...options });
    const [name, value] = operator.cookie;
    // Chromium sends a secure cookie to a loopback address over plain http, too.
    const url = running.origin.replace('http:', 'https:');
    await context.addCookies([{ name, value, url, httpOnly: true, secure: true, sameSite: 'Lax' }]);
    return context.newPage();
  };

  /** Whether the foot of the page begins where its heading does. */
  const isAligned = (page: Page): Promise<boolean> =>
    page.evaluate(
      "new Set([...document.querySelectorAll('h1, footer summary')].map((part) => part.getBoundingClientRect().left)).size === 1",
    );

  /** What the picture shows of the scripts. */
  const prepare: Partial<Record<ScreenName, (page: Page) => Promise<unknown>>> = {
    async now(page) {
      await page.getByText('Live', { exact: true }).waitFor();
      await decide();
      await page.locator('#stream li', { hasText: 'scope_intersection_empty' }).first().waitFor();
    },
    async ledger(page) {
      await page.getByText('Verify in this browser').click();
      await page.getByLabel(/^Keys that you trust/).fill(keys);
      await page.getByRole('button', { name: 'Verify the records on this page' }).click();
      await page.locator('#verification-result h3').waitFor();
    },
  };

  for (const colorScheme of isForDocs ? schemes : looksByLength(schemes)) {
    it(`show every screen, ${colorScheme}: it fits a phone, and its foot is aligned`, async () => {
      const phone = await signedIn({ ...devices.phone, viewport: { width: 360, height: 740 }, colorScheme });
      const desktop = isForDocs || isScanned ? await signedIn({ colorScheme }) : undefined;
      const faults: Record<string, unknown> = {};
      for (const name of names) {
        const answer = await phone.goto(`${running.origin}${addresses[name]}`);
        expect(answer?.status(), name).to.equal(200);
        await screenshot(phone, `console-${name}-${colorScheme}-phone`);
        const width = Number(await phone.evaluate('document.documentElement.scrollWidth'));
        if (width > 360 || !(await isAligned(phone))) faults[`${name} on a phone`] = { width };
        if (desktop === undefined) continue;
        await desktop.goto(`${running.origin}${addresses[name]}`);
        await prepare[name]?.(desktop);
        const path = isForDocs ? at(pictureOf(name, colorScheme)) : undefined;
        if (path === undefined) await screenshot(desktop, `console-${name}-${colorScheme}`);
        else await desktop.screenshot({ path, fullPage: true });
        const firstScreen = firstScreens[name];
        if (isForDocs && firstScreen !== undefined && colorScheme === 'light')
          await desktop.screenshot({ path: at(firstScreen) });
        const found = isScanned ? await accessibilityFaults(desktop) : [];
        const wide = Number(await desktop.evaluate('document.documentElement.scrollWidth'));
        const aligned = await isAligned(desktop);
        if (found.length > 0 || wide > 1100 || !aligned) faults[name] = { found, wide, aligned };
      }
      expect(faults).to.deep.equal({});
      await desktop?.context().close();
      await phone.context().close();
    });
  }
});
