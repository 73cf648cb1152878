/** The page of a person with many agents and tasks. */

import { expect } from 'chai';
import type { Locator, Page } from 'playwright-core';
import { ulid } from 'ulid';
import { makeTaskId } from '../../../../../domain/identifiers.ts';
import { expectSaid } from '../../../../support/browser.ts';
import { ada } from '../../../../support/identity-provider/people.ts';
import { byLength } from '../../../../support/length.ts';
import { fieldsOf, type RegisteredAgent } from '../../../../support/mandate.ts';
import type { PageInBrowser } from './site.ts';

/** The tasks of one agent. A page lists 50. */
const TASKS = byLength({ short: 103, full: 993 });

/** Clicks the link and waits until the next page is loaded whole: `click` alone waits for its beginning. */
async function follow(page: Page, link: Locator): Promise<void> {
  const from = page.url();
  await link.click();
  await page.waitForURL(({ href }) => href !== from);
}

export function testManyTasks(site: PageInBrowser): void {
  const { press, shot, signedIn, task } = site;
  /** Copies the agent's newest task. @param agentId the agent of each copy, as SQL */
  const crowd = async (agent: RegisteredAgent, count: number, agentId = 'agent_id'): Promise<readonly string[]> => {
    const ids = Array.from({ length: count }, () => makeTaskId(ulid()));
    await site.mandate.sql(`
      insert into tasks (task_id, agent_id, sponsor_key, sponsor, audience, scope, delegation_depth, created_at, expires_at)
      with others (new_id) as (values ${ids.map((id) => `('${id}')`).join()})
      select new_id, ${agentId}, sponsor_key, sponsor, audience, scope, delegation_depth, created_at, expires_at
      from (select * from tasks where agent_id = '${agent.id}' order by task_id desc limit 1) newest, others`);
    await site.mandate.sql(`
      insert into task_grants (grant_hash, task_id, scope)
      select 'grant of ' || task_id, task_id, scope from tasks where task_id in (${ids.map((id) => `'${id}'`).join()})`);
    return ids;
  };

  it('shows a person with many tasks each agent once, the tasks of an agent in pages, and stops them there', async () => {
    const { mandate } = site;
    const others = [await task(site.triage), ...(await crowd(site.triage, TASKS - 1))];
    await task(site.travel);
    const page = await signedIn({ javaScriptEnabled: false });
    expect(await page.locator('#live ~ .quiet').textContent()).to.equal(`${TASKS + 1} tasks by 2 agents`);
    expect(await page.locator('.card h3').allTextContents()).to.deep.equal(['Travel planner', 'Jira triage']);
    await shot(page, '10 many tasks');
    await follow(page, page.getByRole('link', { name: 'Jira triage' }));
    expect(await page.locator('h1, #live ~ .quiet').allTextContents()).to.deep.equal(['Jira triage', `${TASKS} tasks`]);
    // The browser keeps addresses and titles.
    expect(`${page.url()} ${await page.title()}`)
      .not.to.contain(site.triage.id)
      .and.not.to.contain('Jira triage');
    const shown: string[] = [];
    const next = page.getByRole('link', { name: 'More tasks' });
    for (;;) {
      const ids = await page.locator('.task[id]').evaluateAll((tasks) => tasks.map(({ id }) => id));
      shown.push(...ids);
      if ((await next.count()) === 0) break;
      await follow(page, next);
    }
    expect(shown).to.deep.equal(others.toSorted().reverse());
    const from = page.url();
    const records = await mandate.recorded(async () => {
      await page.locator('.task button').last().click();
      await expectSaid(page, '1 task of Jira triage stopped.');
      // The form leads back to its page.
      expect(page.url()).to.equal(from);
      await press(page, `Stop all ${TASKS - 1} tasks of Jira triage`);
      await expectSaid(page, `${TASKS - 1} tasks of Jira triage stopped.`);
    });
    expect(new Set(fieldsOf(records, 'event', 'reason', 'sponsor').map(String))).to.deep.equal(
      new Set([`task.revoked,sponsor_stopped,${ada.username}`]),
    );
    expect(records).to.have.lengthOf(TASKS);
    // Of few tasks the first page shows all.
    expect(await page.locator('.task dl').count()).to.equal(1);
    await page.goto(from);
    expect(await page.locator('#renewed .card').allTextContents()).to.deep.equal([
      'This agent does not act for you right now.',
    ]);
    await page.context().close();
  });
}
