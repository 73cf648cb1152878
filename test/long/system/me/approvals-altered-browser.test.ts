/**
 * What a person sees in a real browser when the owner of the database changed the row of a question, and what a renamed row in
 * `sessions` can do: it says yes in another person's name (docs/approvals.md, "What it proves").
 */

import { expect } from 'chai';
import { ALTERED_WORDS, FORGED } from '../../../support/approvals-altered.ts';
import { closeBrowser, expectSaid, signedInPages } from '../../../support/browser.ts';
import { databasesByLength } from '../../../support/databases.ts';
import { ada, grace, type Person } from '../../../support/identity-provider/people.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent } from '../../../support/mandate.ts';
import { type PageWithProvider, startWithPage } from '../../../support/me/person-browser.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
} from '../../../support/tool-server/approval-request.ts';

const TEXTS = {
  en: {
    yes: /^Yes, once/,
    banner: 'A question is not shown: it was changed after the request. Tell the operators of this service.',
    title: 'This question cannot be shown',
    text: 'It was changed after the request. No answer was taken, and nothing is allowed by it. Tell the operators of this service.',
  },
  de: {
    yes: /^Ja, einmal/,
    banner:
      'Eine Frage wird nicht gezeigt: Sie wurde nach der Anfrage geändert. Sagen Sie es den Betreibern dieses Dienstes.',
    title: 'Diese Frage kann nicht gezeigt werden',
    text: 'Sie wurde nach der Anfrage geändert. Es wurde keine Antwort angenommen, und nichts ist dadurch erlaubt. Sagen Sie es den Betreibern dieses Dienstes.',
  },
} as const;

for (const database of databasesByLength) {
  describe(`An altered approval at the person's page in a browser on ${database.name}`, function () {
    this.timeout(120_000);
    let running: PageWithProvider;
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    before(async () => {
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      running = await startWithPage(database, approvalSettings(jira), { odd: {} });
      mandate = running.mandate;
      agent = await mandate.agent({ display_name: 'Jira triage' });
    });
    after(async () => {
      await closeBrowser();
      await running.stop();
    });
    beforeEach(async () => {
      expect((await mandate.admin('DELETE', `/admin/sponsors/${ada.username}/tasks`)).status).to.equal(200);
    });

    async function question() {
      const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
      const { approval_id: id, approval_uri: uri } = (await asks(mandate, token, jira.request(taskId))).body;
      return { taskId: String(taskId), uri: String(uri), approval: await mandate.approval(String(id)) };
    }
    const openSignedIn = signedInPages();
    const signedIn = (locale: 'en' | 'de', person: Person = ada) =>
      openSignedIn(`${mandate.issuer}/me`, person, { locale, javaScriptEnabled: false });

    for (const locale of ['en', 'de'] as const) {
      const { yes, banner, title, text } = TEXTS[locale];
      it(`is a line at /me, and a page with 409 at its address and after its button: ${locale}`, async () => {
        const { uri, approval } = await question();
        const page = await signedIn(locale);
        await page.getByRole('button', { name: yes }).waitFor();
        for (const statement of ALTERED_WORDS['other words']?.(approval) ?? []) await mandate.sql(statement);

        // The page was read before the change.
        const records = await mandate.recorded(async () => {
          const answered = page.waitForResponse((response) => response.request().method() === 'POST');
          await page.getByRole('button', { name: yes }).click();
          expect((await answered).status()).to.equal(409);
          await page.getByRole('heading', { name: title }).waitFor();
        });
        expect(records).to.deep.equal([]);
        expect((await page.goto(uri))?.status()).to.equal(409);
        const notice = await page.locator('body').innerText();
        expect(notice).to.contain(title).and.to.contain(text).and.not.to.contain(FORGED.title);

        expect((await page.goto(`${mandate.issuer}/me`))?.status()).to.equal(200);
        const shown = await page.locator('body').innerText();
        expect(shown).to.contain(banner).and.not.to.contain(FORGED.title).and.not.to.contain('Red Cross');
        expect(await page.getByRole('button', { name: yes }).count()).to.equal(0);
        await page.context().close();
      });
    }

    it("answers a person whose row in `sessions` got another one's names: the yes is recorded as the other one's", async () => {
      const { taskId } = await question();
      const page = await signedIn('en', grace);
      expect(await page.getByRole('button', { name: TEXTS.en.yes }).count()).to.equal(0);
      await mandate.sql(
        `update sessions set sub = '${ada.username}', sponsor_key = '${ada.username}' where sub = '${grace.username}'`,
      );
      await page.reload();
      const records = await mandate.recorded(async () => {
        await page.getByRole('button', { name: TEXTS.en.yes }).click();
        await expectSaid(
          page,
          'You said yes: Delete the issue (Jira triage). The agent may do this once, within 10 minutes.',
        );
      });
      expect(fieldsOf(records, 'event', 'task_id', 'sponsor')).to.deep.equal([
        ['approval.granted', taskId, ada.username],
      ]);
      await page.context().close();
    });
  });
}
