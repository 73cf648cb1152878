/** The screens with names of every length, in a real browser: on a phone and on a desk, in light and dark. */

import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { visibleWords } from '../../../domain/visible.ts';
import {
  accessibilityFaults,
  browse,
  closeBrowser,
  devices,
  looksByLength,
  screenshot,
  turnedAround,
  willBeScanned,
} from '../../support/browser.ts';
import { type ConsoleService, type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { insertDenials } from '../../support/console/many-tasks.ts';
import { sqliteFile } from '../../support/databases.ts';

const LONG_NAME = `${'Jira triage for the whole of customer care and '.repeat(3)}`.slice(0, 112);
const LONG_KEY = `person-${'x'.repeat(249)}`;
const BIDIRECTIONAL = 'ada\u202egro.elpmaxe';
/** The last control but one, POP DIRECTIONAL ISOLATE, would close the isolation of the page's own `bdi`. */
const STRANGE_PURPOSE = `</blockquote><b>x</b>${'y'.repeat(200)}\u202e\u2069\u202e`;
const LOOKS = [
  ['light desk', { ...devices.desktop, viewport: { width: 1280, height: 800 }, colorScheme: 'light' }],
  ['dark phone', { ...devices.phone, colorScheme: 'dark' }],
  ['dark desk', { ...devices.desktop, viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }],
  ['light phone', { ...devices.phone, colorScheme: 'light' }],
] as const;

describe('The screens of the console with long names, in a browser', function () {
  this.timeout(240_000);
  let service: ConsoleService;
  let operator: OperatorAtConsole;
  let paths: Readonly<Record<string, string>>;

  before(async () => {
    service = await startConsole(sqliteFile, { 'Service:Tasks:Purpose': 'accept' });
    const { mandate } = service;
    const agent = await mandate.agent({ agent_id: `agent-${'y'.repeat(106)}`, display_name: LONG_NAME });
    const markup = await mandate.agent({ display_name: '<b>Bold</b> & "quoted"' });
    const started = await agent.exchangeFor({ sub: LONG_KEY }, { purpose: '\u{1f600}'.repeat(150) });
    for (const sub of [BIDIRECTIONAL, 'ada']) await markup.exchangeFor({ sub });
    const strange = await markup.exchangeFor({ sub: '<i>Eve</i>' }, { purpose: STRANGE_PURPOSE });
    await mandate.block('mallory', 'disabled');
    operator = await service.signedIn('auditor', 'registrar', 'responder');
    await operator.submit('/people/block', {
      sponsor_key: `m${LONG_KEY.slice(1)}`,
      typed: `m${LONG_KEY.slice(1)}`,
      reason: 'r'.repeat(200),
    });
    await mandate.jobs.seal();
    await insertDenials(mandate, sqliteFile, 5100);
    const key = encodeURIComponent(LONG_KEY);
    const task = String(started.body.task_id);
    const [first] = (await mandate.ledger()).filter(({ task_id }) => task_id === task);
    paths = {
      now: '/',
      tasks: '/tasks',
      'no tasks': '/tasks?state=expired',
      delegation: '/delegation',
      agents: '/agents',
      agent: `/agents/${agent.id}`,
      'unknown agent': `/agents/${agent.id.slice(0, -1)}z`,
      task: `/tasks/${task}`,
      'strange task': `/tasks/${strange.body.task_id}`,
      record: `/tasks/${task}/records/${first?.seq}`,
      people: '/people',
      person: `/people?sponsor=${key}`,
      'unknown person': `/people?sponsor=${key.slice(0, -1)}z`,
      'blocked person': `/people?sponsor=m${key.slice(1)}`,
      ledger: '/ledger',
      checkpoints: '/ledger/checkpoints',
      doctor: '/doctor',
      stop: '/stop',
      'stop a person': `/stop?sponsor=${key}`,
      'wrong filters': '/delegation?from=yesterday',
    };
  });
  after(async () => {
    await closeBrowser();
    await service.stop();
  });

  /** Lines of the header, whether the page or a table is wider than it is shown, and whether the page says so. */
  const layout = (page: Page) =>
    page.evaluate<{
      readonly headerLines: number;
      readonly wide: readonly string[];
      readonly tables: number;
      readonly said: number;
    }>(`({
      headerLines: new Set([...document.querySelectorAll('header > *')].map((part) => {
        const { top, bottom } = part.getBoundingClientRect();
        return Math.round((top + bottom) / 40);
      })).size,
      wide: document.documentElement.scrollWidth <= document.documentElement.clientWidth ? [] : [...document.querySelectorAll('body *')]
        .filter((part) => part.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !part.closest('.scroll, nav'))
        .map((part) => part.outerHTML.slice(0, 120)),
      tables: [...document.querySelectorAll('.scroll:not(.picture)')].filter((part) => part.scrollWidth > part.clientWidth).length,
      said: [...document.querySelectorAll('.sideways')].filter((part) => part.offsetParent !== null).length,
    })`);

  for (const [look, options] of looksByLength(LOOKS)) {
    it(`fit the page, wrap names in tables or say that they scroll, and axe finds nothing: ${look}`, async () => {
      const context = await browse(options);
      const [name, value] = operator.cookie;
      const url = service.origin.replace('http:', 'https:');
      await context.addCookies([{ name, value, url, httpOnly: true, secure: true, sameSite: 'Lax' }]);
      const page = await context.newPage();
      await willBeScanned(page);
      const faults: Record<string, unknown> = {};
      for (const [name, path] of Object.entries(paths)) {
        await page.goto(`${service.origin}${path}`);
        const { headerLines, wide, tables, said } = await layout(page);
        const found = await accessibilityFaults(page);
        await screenshot(page, `console sizes ${name} ${look}`);
        const isPhone = look.endsWith('phone');
        const isUnsaid = isPhone ? tables > said : tables > 0;
        if (found.length > 0 || wide.length > 0 || isUnsaid || headerLines > (isPhone ? 2 : 1)) {
          faults[name] = { found, wide, tables, said, headerLines };
        }
      }
      expect(faults).to.deep.equal({});
      await page.goto(`${service.origin}${paths['strange task']}`);
      expect(await page.locator('.stated').allTextContents()).to.deep.equal([visibleWords(STRANGE_PURPOSE)]);
      expect(await page.locator('.stated + p').count()).to.equal(1);
      expect(await turnedAround(page, '.stated + p')).to.deep.equal([]);
      await page.setViewportSize(devices.phone.viewport);
      expect((await layout(page)).wide).to.deep.equal([]);
      await page.goto(`${service.origin}${paths.task}`);
      expect((await layout(page)).wide).to.deep.equal([]);
      await screenshot(page, `console sizes purpose ${look}`);
      await context.close();
    });
  }
});
