/** What the script of the page does with the words and the cards that change. */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { renderMe } from '../../../../../adapters/http/me/pages/tasks.ts';
import { type ApprovalId, makeApprovalId, makeTaskId } from '../../../../../domain/identifiers.ts';
import { plusSeconds } from '../../../../../domain/instant.ts';
import { browse } from '../../../../support/browser.ts';
import { byLength } from '../../../../support/length.ts';
import { aCrowdedView, agentsOf, anApproval, aTask, aView, now } from '../fixtures.ts';

const FIRST = makeApprovalId('01JDCK0000000000000000FRST');
const SECOND = makeApprovalId('01JDCK0000000000000000SCND');

/** The page while these wait, so many seconds later. */
function asking(ids: readonly ApprovalId[], later = 0): string {
  const waiting = ids.map((approvalId) => anApproval({ approvalId }));
  return renderMe(aView({ hearsApprovals: true, waiting, now: plusSeconds(now, later) }), 'en');
}

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
    const page = await (await browse()).newPage();
    await page.clock.install({ time: now / 1000 - 1000 });
    await page.clock.pauseAt(now / 1000);
    const focused = [
      ['link', first],
      ['button', second],
      ['button', first],
      ['link', second],
    ] as const;
    for (const [role, agent] of byLength({ short: focused.slice(0, 2), full: [...focused] })) {
      await page.goto(serve(renderMe(crowd, 'en')));
      await page.getByRole(role, { name: agent.displayName ?? '' }).focus();
      serve(renderMe(moved, 'en'));
      await page.clock.runFor(15_000);
      await page.waitForFunction(`document.querySelector('.card h3').textContent === '${second.displayName}'`);
      expect(await page.evaluate('document.activeElement.closest(".card").id')).to.equal(`card-${agent.agentId}`);
      expect(await page.locator(':focus').evaluate((focused) => focused.tagName)).to.equal(
        role === 'link' ? 'A' : 'BUTTON',
      );
    }
    await page.context().close();
  });

  /** A page that asks, whose renewals the test brings about, and the approvals that were answered from it. */
  async function openAsking(ids: readonly ApprovalId[], options: BrowserContextOptions = {}) {
    const address = serve(asking(ids));
    const page = await (await browse(options)).newPage();
    const answered: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') answered.push(request.url().split('/').at(-2) ?? '');
    });
    if (options.javaScriptEnabled !== false) {
      await page.clock.install({ time: now / 1000 - 1000 });
      await page.clock.pauseAt(now / 1000);
    }
    await page.goto(address);
    const renew = async (waiting: readonly ApprovalId[], later = 0) => {
      serve(asking(waiting, later));
      const request = page.waitForRequest(address);
      await page.clock.runFor(4000);
      await (await (await request).response())?.finished();
      // The script has read its answer before a later one arrives.
      await page.evaluate('fetch(location.href).then((answer) => answer.text())');
    };
    const yes = (id: ApprovalId) => page.locator(`#yes-${id}`);
    return { page, answered, renew, yes };
  }
  async function middleOf(page: Page, id: ApprovalId) {
    const button = page.locator(`#yes-${id}`);
    await button.scrollIntoViewIfNeeded();
    const { x, y, width, height } = (await button.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    return { x: x + width / 2, y: y + height / 2 };
  }
  /** The second in which a choice takes no click passes. */
  const settle = (page: Page) => page.evaluate('for (const animation of document.getAnimations()) animation.finish()');

  it('changes nothing under a finger, a mouse button or a key: the answer is that of the choice that was pressed', async () => {
    for (const how of ['finger', 'mouse', 'key'] as const) {
      const { page, answered, renew, yes } = await openAsking([FIRST, SECOND]);
      const touch = await page.context().newCDPSession(page);
      const { x, y } = await middleOf(page, SECOND);
      await settle(page);
      if (how === 'finger')
        await touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] });
      if (how === 'mouse') await page.mouse.move(x, y);
      if (how === 'mouse') await page.mouse.down();
      if (how === 'key') await yes(SECOND).focus();
      if (how === 'key') await page.keyboard.down('Space');
      // The first question is over, and the second would move to its place.
      await renew([SECOND]);
      expect(await yes(FIRST).count(), how).to.equal(1);
      const answer = page.waitForRequest((request) => request.method() === 'POST');
      if (how === 'finger') await touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
      if (how === 'mouse') await page.mouse.up();
      if (how === 'key') await page.keyboard.up('Space');
      await answer;
      expect(answered, how).to.deep.equal([SECOND]);
      await page.context().close();
    }
  });

  it('renews itself again after a release, also after one that got lost', async () => {
    const { page, renew, yes } = await openAsking([FIRST]);
    await page.mouse.move(1, 1);
    await page.mouse.down();
    await renew([FIRST, SECOND]);
    expect(await yes(SECOND).count()).to.equal(0);
    await page.mouse.up();
    // On a busy machine a renewal may give up waiting, by the machine's clock; the next one shows the same.
    do await renew([FIRST, SECOND]);
    while ((await yes(SECOND).count()) === 0);
    await page.keyboard.down('Shift');
    await renew([SECOND]);
    expect(await yes(FIRST).count()).to.equal(1);
    await page.clock.runFor(10_000);
    do await renew([SECOND]);
    while ((await yes(FIRST).count()) > 0);
    await page.context().close();
  });

  it('takes no click on a choice in its first second at its place, and every one after it', async () => {
    for (const javaScriptEnabled of [true, false]) {
      const { page, answered, renew } = await openAsking([FIRST, SECOND], { javaScriptEnabled });
      // The second in which a choice takes no click ends when the test says so, however busy the machine is.
      const animations = await page.context().newCDPSession(page);
      await animations.send('Animation.enable');
      await animations.send('Animation.setPlaybackRate', { playbackRate: 0 });
      await page.evaluate('scrollTo(0, 0)');
      const { x, y } = await middleOf(page, FIRST);
      const press = () => (javaScriptEnabled ? page.touchscreen.tap(x, y) : page.mouse.click(x, y));
      await settle(page);
      const expected: ApprovalId[] = [];
      if (javaScriptEnabled) {
        await renew([SECOND]);
      } else {
        // The second click of two reaches the page that follows the answer.
        serve(asking([SECOND]));
        const next = page.waitForEvent('load');
        await press();
        await next;
        expected.push(FIRST);
      }
      const moved = await middleOf(page, SECOND);
      expect(moved).to.deep.equal({ x, y });
      await press();
      await settle(page);
      const answer = page.waitForRequest((request) => request.method() === 'POST');
      await press();
      await answer;
      expect(answered).to.deep.equal([...expected, SECOND]);
      await page.context().close();
    }
  });

  it('leaves the questions alone while they are the same: their choices stay in place, their times count down, and a screen reader says a new one', async () => {
    const { page, renew } = await openAsking([FIRST]);
    await page.evaluate("document.querySelector('#approvals').isFirst = true");
    const isFirst = () => page.evaluate("document.querySelector('#approvals').isFirst === true");
    const until = page.locator('#approvals time').last().locator('[data-distance]');
    expect(await until.textContent()).to.equal('in 9 minutes');
    const said = page.locator('#asked');
    await renew([FIRST], 120);
    expect(await said.textContent()).to.equal('');
    expect(await isFirst()).to.equal(true);
    expect(await until.textContent()).to.equal('in 7 minutes');
    const place = await middleOf(page, FIRST);
    await page.route(page.url(), (route) => route.abort());
    await page.clock.runFor(4000);
    await page.locator('#offline').waitFor();
    expect(await middleOf(page, FIRST)).to.deep.equal(place);
    await page.unroute(page.url());
    await renew([FIRST, SECOND]);
    expect(await isFirst()).to.equal(false);
    expect(await said.textContent()).to.equal('Jira triage wants to act at jira.example');
    // Oldest first: a new question is below those that the person may be reading.
    const titles = page.locator('#approvals [id^=yes]');
    expect(await titles.evaluateAll((all) => all.map(({ id }) => id))).to.deep.equal([`yes-${FIRST}`, `yes-${SECOND}`]);
    await page.context().close();
  });
}
