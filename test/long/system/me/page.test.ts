/**
 * The person's page in a real browser: signed in at a real provider, against the running service, on both databases. At
 * every push `test/system/me.test.ts` and `test/system/me/sign-in.test.ts` hold the same over HTTP, and
 * `test/adapters/http/me/page.test.ts` runs the page's script.
 */

import { expect } from 'chai';
import { accessibilityFaultsByLength, browse, expectSaid, PROVIDERS_COOKIE, signIn } from '../../../support/browser.ts';
import { databasesByLength } from '../../../support/databases.ts';
import { ada } from '../../../support/identity-provider/people.ts';
import { fieldsOf } from '../../../support/mandate.ts';
import { testForeignRequests } from './page/foreign-requests.ts';
import { testManyTasks } from './page/many-tasks.ts';
import { pageInBrowser } from './page/site.ts';

for (const database of databasesByLength) {
  describe(`The person's page in a browser on ${database.name}`, function () {
    this.timeout(120_000);
    const site = pageInBrowser(database);
    const { press, shot, signedIn, task } = site;

    it('signs in, stops a task, an agent and everything, and signs out', async () => {
      const { mandate } = site;
      const tasks = [
        await task(site.triage),
        await task(site.triage),
        await task(site.triage),
        await task(site.travel),
      ];
      // This browser signs out at the provider, so it has a sign-in that no other test uses.
      const page = await (await browse()).newPage();
      await page.goto(`${mandate.issuer}/me`);
      await signIn(page);
      expect(await page.locator('.task dl').count()).to.equal(4);
      expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
      await shot(page, '1 tasks');
      expect(await page.locator('section[aria-labelledby=reach]').textContent()).to.contain('at most 5 minutes later');
      const records = await mandate.recorded(async () => {
        await page.locator(`[id="${tasks[0]}"]`).getByRole('button').click();
        await expectSaid(page, '1 task of Jira triage stopped.');
        await shot(page, '2 stopped one');
        await press(page, 'Stop all 2 tasks of Jira triage');
        await expectSaid(page, '2 tasks of Jira triage stopped.');
        await page.locator('summary', { hasText: 'Stop everything' }).click();
        await shot(page, '3 asked');
        await press(page, 'Stop all my tasks');
        await expectSaid(page, '1 task stopped.');
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason', 'task_id', 'sponsor')).to.have.deep.members(
        tasks.map((id) => ['task.revoked', 'allow', 'sponsor_stopped', id, ada.username]),
      );
      // The address says nothing, and the outcome is shown once.
      expect(page.url()).to.equal(`${mandate.issuer}/me`);
      await page.reload();
      await expectSaid(page, '');
      expect(await page.locator('#history ~ *, .history li').first().isVisible()).to.equal(true);
      expect(await page.locator('.history').textContent()).to.contain('You stopped it');
      await shot(page, '4 nothing live');
      await page.getByRole('button', { name: 'Sign out', exact: true }).click();
      await page.getByRole('heading', { name: 'You are signed out here' }).waitFor();
      // The provider still knows the person.
      await page.goto(`${mandate.issuer}/me`);
      await shot(page, '4 sign out everywhere');
      await press(page, 'Sign out everywhere');
      await page.waitForURL((url) => url.origin === mandate.provider.issuer);
      await press(page, 'Sign out');
      await page.waitForURL(`${mandate.issuer}/me/signed-out`);
      expect(await page.getByRole('heading').allTextContents()).to.deep.equal(['You are signed out']);
      await page.goto(`${mandate.issuer}/me`);
      expect(await page.getByLabel('Password').isVisible()).to.equal(true);
      await page.context().close();
    });

    it('pauses agents, and lifts the pause only after another sign-in', async () => {
      const { mandate } = site;
      const [id] = [await task(site.triage)];
      const page = await signedIn();
      const paused = await mandate.recorded(async () => {
        await page.locator('summary', { hasText: 'Pause agents' }).click();
        await press(page, 'Pause all agents');
        await expectSaid(page, 'Agents are paused. 1 task stopped.');
      });
      expect(fieldsOf(paused, 'event', 'reason', 'task_id')).to.deep.equal([
        ['sponsor.blocked', 'sponsor_paused', null],
        ['task.revoked', 'sponsor_paused', id],
      ]);
      expect((await site.triage.exchange()).body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
      await shot(page, '5 paused');
      expect(await page.locator('summary', { hasText: 'Pause agents' }).count()).to.equal(0);

      // The sign-in is now too old for this service. The provider has forgotten the person, so it asks again.
      mandate.clock.advance(400);
      await page.context().clearCookies({ name: PROVIDERS_COOKIE });
      await page.reload();
      await page.getByRole('link', { name: 'Let agents act again' }).click();
      await page.getByLabel('Password').waitFor();
      mandate.clock.advance(-400);
      await signIn(page);
      expect(page.url()).to.equal(`${mandate.issuer}/me/resume`);
      await shot(page, '6 resume');
      const resumed = await mandate.recorded(async () => {
        await press(page, 'Let agents act for me again');
        await expectSaid(page, 'Agents may act for you again.');
      });
      expect(fieldsOf(resumed, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
        ['sponsor.unblocked', 'allow', 'sponsor_resumed', ada.username],
      ]);
      await page.context().close();
    });

    it('stops renewing itself five minutes after the last touch, so that the session can end', async () => {
      const { mandate } = site;
      const page = await signedIn();
      await page.addInitScript(`{
        const send = fetch;
        window.renewals = 0;
        window.fetch = (...request) => (window.renewals++, send(...request));
      }`);
      const renewals = () => page.evaluate('window.renewals');
      await page.clock.install();
      await page.reload();
      // From here on only this test moves the page's clock.
      await page.clock.pauseAt(Date.now() + 60_000);
      await page.clock.runFor(6 * 60_000);
      const whileAttended = await renewals();
      expect(whileAttended).to.be.greaterThan(10);
      mandate.clock.advance(901);
      try {
        await page.clock.runFor(700_000);
        expect(await renewals()).to.equal(whileAttended);
        // The session is over by now: one more request finds that out, and the tasks go.
        await page.clock.fastForward(200_000);
        await page.getByRole('alert').waitFor();
      } finally {
        mandate.clock.advance(-901);
      }
      await page.context().close();
    });

    it('works without script, in German', async () => {
      const id = await task(site.triage);
      const page = await signedIn({ javaScriptEnabled: false, locale: 'de', colorScheme: 'dark' });
      await page.locator('summary', { hasText: 'Agenten pausieren' }).click();
      await shot(page, '7 without script');
      await page.locator(`[id="${id}"]`).getByRole('button', { name: 'Stoppen' }).click();
      await expectSaid(page, '1 Aufgabe von Jira triage gestoppt.');
      await page.locator('summary', { hasText: 'Agenten pausieren' }).click();
      await press(page, 'Alle Agenten pausieren');
      await expectSaid(page, 'Agenten sind pausiert. Es lief keine Aufgabe.');
      await press(page, 'Agenten wieder erlauben');
      await expectSaid(page, 'Agenten dürfen wieder für Sie handeln.');
      await page.context().close();
    });

    it('renews itself while it is visible: it shows a new task, and keeps an open question and the focus', async () => {
      const page = await signedIn();
      await page.clock.install();
      await page.reload();
      await page.locator('summary', { hasText: 'Pause agents' }).click();
      const id = await task(site.travel);
      await page.clock.fastForward(15_000);
      await page.locator(`[id="${id}"]`).waitFor();
      expect(await page.getByRole('button', { name: 'Pause all agents' }).isVisible()).to.equal(true);
      expect(await page.evaluate('document.activeElement.textContent')).to.equal('Pause agents');
      await page.context().close();
    });

    testManyTasks(site);
    testForeignRequests(site);
  });
}
