/** The person's page in a browser, signed in at a real provider, with two agents that may act for the person. */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { closeBrowser, screenshot, signedInPages } from '../../../../support/browser.ts';
import type { TestDatabase } from '../../../../support/databases.ts';
import { ada } from '../../../../support/identity-provider/people.ts';
import type { Mandate, RegisteredAgent } from '../../../../support/mandate.ts';
import { type PageWithProvider, startWithPage } from '../../../../support/me/person-browser.ts';

export interface PageInBrowser {
  readonly mandate: Mandate;
  readonly triage: RegisteredAgent;
  readonly travel: RegisteredAgent;
  signedIn(options?: BrowserContextOptions): Promise<Page>;
  press(page: Page, name: string | RegExp): Promise<void>;
  pauseAll(page: Page): Promise<void>;
  shot(page: Page, name: string): Promise<void>;
  /** Begins a task, and returns its id. */
  task(agent: RegisteredAgent): Promise<string>;
}

/** Starts it before the tests of a suite, and ends it after them. */
export function pageInBrowser(database: TestDatabase, settings: Readonly<Record<string, string>> = {}): PageInBrowser {
  let running: PageWithProvider;
  let triage: RegisteredAgent;
  let travel: RegisteredAgent;
  before(async () => {
    running = await startWithPage(database, settings);
    triage = await running.mandate.agent({ display_name: 'Jira triage' });
    travel = await running.mandate.agent({ display_name: 'Travel planner' });
  });
  after(async () => {
    await closeBrowser();
    await running.stop();
  });

  // A test that fails leaves tasks, a block or another time behind. The next test must not fail for that.
  beforeEach(async () => {
    const { mandate } = running;
    mandate.clock.advance(Math.round((Date.now() - mandate.clock.now() / 1000) / 1000));
    await mandate.sql('delete from sponsor_blocks');
    expect((await mandate.admin('DELETE', `/admin/sponsors/${ada.username}/tasks`)).status).to.equal(200);
  });

  const openSignedIn = signedInPages();
  const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click();
  return {
    get mandate() {
      return running.mandate;
    },
    get triage() {
      return triage;
    },
    get travel() {
      return travel;
    },
    signedIn: (options) => openSignedIn(`${running.mandate.issuer}/me`, ada, options),
    press,
    async pauseAll(page) {
      await page.locator('summary', { hasText: 'Pause agents' }).click();
      await press(page, 'Pause all agents');
    },
    shot: (page, name) => screenshot(page, `${database.name} ${name}`),
    task: async (agent) => String((await agent.exchange()).body.task_id),
  };
}
