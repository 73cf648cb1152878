/** What the script of the page does with the words and the cards that change. */

import { expect } from 'chai';
import { renderMe } from '../../../../../adapters/http/me/page.ts';
import { makeTaskId } from '../../../../../domain/identifiers.ts';
import { plusSeconds } from '../../../../../domain/instant.ts';
import { browse } from '../../../../support/browser.ts';
import { aCrowdedView, agentsOf, aTask, aView, now } from '../fixtures.ts';

/** @param serve shows a document, and returns its address */
export function testScript(serve: (document: string) => string): void {
  it('lets a browser translate its words, never a name, and overwrites a translation only when the words change', async () => {
    const tasks = [aTask({ startedAt: plusSeconds(now, -15 * 60 - 50), scope: ['jira:read', 'wiki:read'] })];
    const address = serve(renderMe(aView({ agents: agentsOf(tasks) }), 'en'));
    const page = await (await browse()).newPage();
    await page.clock.install({ time: now / 1000 - 1000 });
    await page.clock.pauseAt(now / 1000);
    await page.goto(address);
    // As a translator does: the language of the document, and each text in two more elements.
    const translate = `{
      document.documentElement.lang = 'fr';
      const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      const found = [];
      while (words.nextNode()) if (!words.currentNode.parentElement.closest('[translate=no], script, template')) found.push(words.currentNode);
      for (const text of found.filter(({ data }) => data.trim() !== '')) {
        const font = document.createElement('font');
        font.append(document.createElement('font'));
        font.firstChild.textContent = 'mot';
        text.replaceWith(font);
      }
    }`;
    await page.evaluate(translate);
    const names = await page.locator('[translate=no]').allTextContents();
    expect(names).to.include.members(['ada', 'Jira triage', 'jira.example', 'wiki:read']);
    expect(names.join()).not.to.contain('mot');
    const since = page.locator('dd:has(time)').first().locator('[data-distance]');
    expect(await since.textContent()).to.equal('mot');
    await page.clock.runFor(5000);
    expect(await since.textContent()).to.equal('mot');
    await page.clock.runFor(7000);
    expect(await since.textContent()).to.equal('16 minutes ago');
    await page.context().close();
  });

  it('keeps the focus on the agent when a renewal moves its card and changes its newest task', async () => {
    const crowd = aCrowdedView();
    const [first, second, ...others] = crowd.agents.page;
    if (first === undefined || second === undefined) throw new Error('the view has too few agents');
    const later = { ...second, newestTask: makeTaskId('01JDCK0000000000000000LATR'), tasks: 2 };
    const moved = aCrowdedView({ agents: { ...crowd.agents, page: [later, first, ...others] } });
    for (const [role, agent] of [
      ['link', first],
      ['button', first],
      ['link', second],
      ['button', second],
    ] as const) {
      const address = serve(renderMe(crowd, 'en'));
      const page = await (await browse()).newPage();
      await page.clock.install({ time: now / 1000 - 1000 });
      await page.clock.pauseAt(now / 1000);
      await page.goto(address);
      await page.getByRole(role, { name: agent.displayName ?? '' }).focus();
      serve(renderMe(moved, 'en'));
      await page.clock.runFor(15_000);
      await page.waitForFunction(`document.querySelector('.card h3').textContent === '${second.displayName}'`);
      expect(await page.evaluate('document.activeElement.closest(".card").id')).to.equal(`card-${agent.agentId}`);
      expect(await page.locator(':focus').evaluate((focused) => focused.tagName)).to.equal(
        role === 'link' ? 'A' : 'BUTTON',
      );
      await page.context().close();
    }
  });
}
