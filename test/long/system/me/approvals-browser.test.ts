/**
 * A person answers at the page in a real browser: signed in at a real provider, asked by a tool server. At every push
 * `test/system/me/approvals.test.ts` and `test/system/approval-attacks.test.ts` hold the same over HTTP, and
 * `test/adapters/http/me/page.test.ts` shows the questions.
 */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import {
  accessibilityFaultsByLength,
  browse,
  closeBrowser,
  devices,
  expectSaid,
  PROVIDERS_COOKIE,
  screenshot,
  signedInPages,
  signIn,
} from '../../../support/browser.ts';
import { databasesByLength } from '../../../support/databases.ts';
import { ada, grace } from '../../../support/identity-provider/people.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent } from '../../../support/mandate.ts';
import { type PageWithProvider, personBrowser, startWithPage } from '../../../support/me/person-browser.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
} from '../../../support/tool-server/approval-request.ts';

for (const database of databasesByLength) {
  describe(`Approvals at the person's page in a browser on ${database.name}`, function () {
    this.timeout(120_000);
    let running: PageWithProvider;
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    before(async () => {
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      const settings = {
        ...approvalSettings(jira),
      };
      running = await startWithPage(database, settings, { odd: {} });
      mandate = running.mandate;
      agent = await mandate.agent({ display_name: 'Jira triage' });
    });
    after(async () => {
      await closeBrowser();
      await running.stop();
    });
    beforeEach(async () => {
      mandate.clock.advance(Math.round((Date.now() - mandate.clock.now() / 1000) / 1000));
      expect((await mandate.admin('DELETE', `/admin/sponsors/${ada.username}/tasks`)).status).to.equal(200);
    });

    async function task(claims: object = {}) {
      const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
      const ask = async () => (await asks(mandate, token, jira.request(taskId, claims))).body;
      return { taskId: String(taskId), ask };
    }
    const openSignedIn = signedInPages();
    const signedIn = (options: BrowserContextOptions = {}, path = '/me') =>
      openSignedIn(`${mandate.issuer}${path}`, ada, options);
    const eventsOf = (lines: Awaited<ReturnType<Mandate['recorded']>>) =>
      fieldsOf(lines, 'event', 'decision', 'reason', 'task_id', 'sponsor');
    const shot = (page: Page, name: string) => screenshot(page, `${database.name} approvals ${name}`);

    it('shows a new one within seconds while it is open, above the tasks, and takes a yes and a no', async () => {
      const { taskId, ask } = await task();
      const page = await signedIn();
      expect(await page.getByRole('heading', { name: 'Waiting for you' }).count()).to.equal(0);
      await page.clock.install();
      await page.reload();
      // From here on only this test moves the page's clock.
      await page.clock.pauseAt(Date.now() + 60_000);
      const asked = await ask();
      await page.clock.runFor(4000);
      await page.getByRole('heading', { name: 'Waiting for you' }).waitFor();
      await page.clock.resume();
      const headings = await page.locator('h2').allTextContents();
      expect(headings.indexOf('Waiting for you')).to.be.lessThan(headings.indexOf('Now'));
      expect(await page.locator('blockquote').innerText())
        .to.contain('Delete the issue')
        .and.to.contain('PAY-7');
      expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
      await shot(page, '1 waiting');
      const records = await mandate.recorded(async () => {
        await page.getByRole('button', { name: /^Yes, once.*Delete the issue/ }).click();
        await expectSaid(
          page,
          'You said yes: Delete the issue (Jira triage). The agent may do this once, within 10 minutes.',
        );
        expect(await ask()).to.include({ state: 'granted', approval_id: asked.approval_id });
      });
      expect(eventsOf(records)).to.deep.equal([
        ['approval.granted', 'allow', null, taskId, ada.username],
        ['approval.used', 'allow', null, taskId, ada.username],
      ]);
      expect(page.url()).to.equal(`${mandate.issuer}/me`);

      const second = await task();
      await second.ask();
      await page.reload();
      const refused = await mandate.recorded(async () => {
        await page.getByRole('button', { name: /^No.*Delete the issue/ }).click();
        await expectSaid(
          page,
          'You said no: Delete the issue (Jira triage). The no counts for 1 hour; then the agent may ask again.',
        );
      });
      expect(eventsOf(refused)).to.deep.equal([
        ['approval.refused', 'deny', 'approval_refused', second.taskId, ada.username],
      ]);
      expect((await second.ask()).state).to.equal('refused');
      await page.context().close();
    });

    it('opens its address after a sign-in only, asks for a new sign-in before a yes, and comes back to the question', async () => {
      const { taskId, ask } = await task();
      const { approval_uri: uri, approval_id: id } = await ask();
      const path = String(uri).slice(mandate.issuer.length);
      const page = await signedIn({}, path);
      expect(page.url()).to.equal(uri);
      expect(await page.getByRole('button', { name: /^Yes/ }).count()).to.equal(1);

      // The sign-in turns old between the page and its form: nothing is granted.
      mandate.clock.advance(301);
      const records = await mandate.recorded(async () => {
        await page.getByRole('button', { name: /^Yes/ }).click();
        await page.getByRole('link', { name: 'Sign in to say yes' }).waitFor();
      });
      expect(page.url()).to.equal(uri);
      expect(eventsOf(records)).to.deep.equal([['me.denied', 'deny', 'approver_not_fresh', taskId, ada.username]]);
      expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
      await shot(page, '2 old sign-in');

      // The provider has forgotten the person, so it asks for the password.
      await page.context().clearCookies({ name: PROVIDERS_COOKIE });
      const requested = page.waitForRequest((request) => request.url().includes('max_age=300'));
      await page.getByRole('link', { name: 'Sign in to say yes' }).click();
      await requested;
      await page.getByLabel('Password').waitFor();
      mandate.clock.advance(-301);
      await signIn(page);
      expect(page.url()).to.equal(uri);
      await expectSaid(page, 'You are signed in. Now answer.');
      expect((await ask()).state).to.equal('pending');
      await page.reload();
      await expectSaid(page, '');
      await page.getByRole('button', { name: /^Yes/ }).click();
      await expectSaid(
        page,
        'You said yes: Delete the issue (Jira triage). The agent may do this once, within 10 minutes.',
      );
      expect(await ask()).to.include({ state: 'granted', approval_id: id });
      await page.goto(String(uri));
      await page.getByRole('heading', { name: 'You said yes, and the agent has used it.' }).waitFor();
      expect(await page.getByRole('button', { name: /^(Yes|No)/ }).count()).to.equal(0);
      await shot(page, '3 used');
      await page.context().close();
    });

    it("says to another person as whom they are signed in, and leads their own person's sign-in to the question", async () => {
      const { ask } = await task();
      const { approval_uri: uri, approval_id: id } = await ask();
      const address = String(uri);
      const page = await (await browse()).newPage();
      await page.goto(address);
      await signIn(page, grace);
      const said = await page.locator('main').innerText();
      expect(said).to.contain('There is no such question').and.to.contain(`You are signed in as ${grace.username}.`);
      expect(said).not.to.contain('Delete the issue');
      expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
      // One that is not stored has the same page, but for its own id.
      const unknown = `approval_${'0'.repeat(26)}`;
      const html = await page.locator('main').innerHTML();
      await page.goto(address.replace(String(id), unknown));
      expect(await page.locator('main').innerHTML()).to.equal(html.replaceAll(String(id), unknown));
      await page.goto(address);
      // The provider knows Grace, and asks all the same.
      await page.getByRole('link', { name: 'Sign in as another person' }).click();
      await signIn(page, ada);
      expect(page.url()).to.equal(uri);
      await page.getByRole('button', { name: /^Yes/ }).waitFor();
      await page.context().close();
    });

    it('lists what was answered or missed, without script, with a link to each', async () => {
      const { ask } = await task();
      const { approval_id: id } = await ask();
      const page = await signedIn({ javaScriptEnabled: false });
      await page.getByRole('link', { name: /^Open the task/ }).click();
      await page.getByRole('button', { name: /^Stop/ }).waitFor();
      await page.getByRole('link', { name: 'Back to my tasks' }).click();
      await page.getByRole('heading', { name: 'Waiting for you' }).waitFor();
      mandate.clock.advance(601);
      await page.reload();
      const line = page.locator(`#settled-${id}`);
      expect(await line.innerText())
        .to.contain('Delete the issue')
        .and.to.contain('You did not answer in time.');
      await line.getByRole('link').click();
      await page.getByRole('heading', { name: 'You did not answer in time.' }).waitFor();
      expect(page.url()).to.equal(`${mandate.issuer}/me/approvals/${id}`);
      mandate.clock.advance(-601);
      await page.context().close();
    });

    it('works without script, in German: a no from an old sign-in, and a yes that comes too late', async () => {
      const { ask } = await task();
      const { approval_uri: uri } = await ask();
      const page = await signedIn({ javaScriptEnabled: false, locale: 'de', colorScheme: 'dark' });
      await page.getByRole('heading', { name: 'Wartet auf Sie' }).waitFor();
      const late = await page.context().newPage();
      await late.goto(String(uri));
      mandate.clock.advance(301);
      await page.reload();
      await page.getByRole('link', { name: 'Anmelden, um Ja zu sagen' }).waitFor();
      await shot(page, '4 without script');
      await page.getByRole('button', { name: /^Nein/ }).click();
      await expectSaid(
        page,
        'Sie haben Nein gesagt: Delete the issue (Jira triage). Das Nein gilt 1 Stunde lang; danach darf der Agent wieder fragen.',
      );
      mandate.clock.advance(-301);
      const records = await mandate.recorded(async () => {
        await late.getByRole('button', { name: /^Ja/ }).click();
        await late.getByRole('heading', { name: 'Diese Antwort ist nicht möglich' }).waitFor();
      });
      expect(records).to.deep.equal([]);
      expect((await ask()).state).to.equal('refused');
      await page.context().close();
    });

    /** A browser sends no more than the field takes, so this takes the limit away. The fault of the line is at the field. */
    async function sendTooLong(page: Page, id: string, fault: string): Promise<void> {
      const field = page.locator(`#why-${id}`);
      await field.evaluate((input) => input.removeAttribute('maxlength'));
      await field.fill('x'.repeat(201));
      await field.press('Enter');
      await page.getByText(fault).waitFor();
      expect(await field.inputValue()).to.equal('x'.repeat(201));
      expect(await field.getAttribute('aria-invalid')).to.equal('true');
      const [problem = ''] = (await field.getAttribute('aria-describedby'))?.split(' ') ?? [];
      expect(await page.locator(`#${problem}`).innerText()).to.equal(fault);
      expect(await field.evaluate((input) => input === input.ownerDocument.activeElement)).to.equal(true);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
    }

    it('takes a line with a no, keeps it while the page renews itself, and gives it back if it breaks the rules', async () => {
      const { ask } = await task();
      const { approval_uri: uri, approval_id: id } = await ask();
      const page = await signedIn();
      await page.getByRole('link', { name: /^Say no, and why/ }).click();
      expect(page.url()).to.equal(uri);
      const field = page.getByLabel('Why not? (optional)');
      await field.fill('Not to \u202eBob');
      // The sign-in turns old, so that the part of the page is another one.
      mandate.clock.advance(301);
      await page.getByRole('link', { name: 'Sign in to say yes' }).waitFor();
      expect(await field.inputValue()).to.equal('Not to \u202eBob');
      mandate.clock.advance(-301);
      await page.getByRole('button', { name: /^Yes/ }).waitFor();
      const records = await mandate.recorded(async () => {
        const fault = 'Nothing was decided. The line may have at most 200 characters, and no control characters.';
        await sendTooLong(page, String(id), fault);
      });
      expect(records).to.deep.equal([]);
      expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
      await shot(page, '5 why not');
      expect((await ask()).state).to.equal('pending');
      await field.fill('Not to \u202eBob');
      await page.getByRole('button', { name: /^No.*Delete the issue/ }).click();
      const settled = page.locator(`#settled-${id}`);
      await settled.getByText('You wrote: Not to \\u{202e}Bob').waitFor();
      expect(await accessibilityFaultsByLength(page)).to.deep.equal([]);
      await shot(page, '6 answered');
      expect(await ask()).to.deep.equal({ state: 'refused', person_says: 'Not to \u202eBob' });
      await page.goto(String(uri));
      await page.getByRole('heading', { name: 'You said no.' }).waitFor();
      expect(await page.locator('main').innerText()).to.contain('Not to \\u{202e}Bob');
      await page.context().close();
    });

    it('takes a line without script, in German on a desktop, and gives it back if it breaks the rules', async () => {
      const { ask } = await task();
      const { approval_id: id } = await ask();
      const page = await signedIn({ ...devices.desktop, javaScriptEnabled: false, locale: 'de', colorScheme: 'dark' });
      await page.getByRole('link', { name: /^Nein sagen und begründen/ }).click();
      const fault = 'Es wurde nichts entschieden. Die Zeile darf höchstens 200 Zeichen haben, und keine Steuerzeichen.';
      await sendTooLong(page, String(id), fault);
      await shot(page, '7 why not without script');
      await page.getByLabel('Warum nicht? (freiwillig)').fill('Falsches Konto');
      await page.getByRole('button', { name: /^Nein/ }).click();
      await page.locator(`#settled-${id}`).getByText('Ihre Worte: Falsches Konto').waitFor();
      expect(await ask()).to.deep.equal({ state: 'refused', person_says: 'Falsches Konto' });
      await page.context().close();
    });

    it('leads a sign-in to an approval or to a known place only, and says for what it must be recent', async () => {
      const id = 'approval_01KAY3Q4W8E6ZP0V5S9N2B7DTF';
      for (const to of [`${id}x`, `fresh-fresh-${id}`, 'fresh-me', 'fresh-', id.toLowerCase(), `/me/approvals/${id}`]) {
        expect((await mandate.get(`/me/sign-in?to=${encodeURIComponent(to)}`)).status, to).to.equal(400);
      }
      const person = personBrowser(mandate);
      for (const [place, maxAge] of [
        [id, null],
        [`fresh-${id}`, '300'],
      ] as const) {
        const begun = await mandate.get(`/me/sign-in?to=${place}`);
        const asked = new URL(String(begun.headers.get('location'))).searchParams.get('max_age');
        if (maxAge !== null) expect(asked).to.equal(maxAge);
        else expect(asked).not.to.equal('300');
        const answer = await person.signIn(`/me/sign-in?to=${place}`);
        expect(answer.headers.get('location')).to.equal(`/me/approvals/${id}`);
      }
      const again = await person.returnAddress(`/me/sign-in?to=fresh-${id}`);
      mandate.clock.advance(301);
      const late = await person.finish(again);
      mandate.clock.advance(-301);
      expect(late.status).to.equal(403);
      expect(late.text).to.contain('Sign in again to say yes').and.contain(`href="/me/sign-in?to=fresh-${id}"`);
    });
  });
}
