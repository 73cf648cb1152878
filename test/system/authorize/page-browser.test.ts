/** A person answers a program in a real browser: signed in at a real provider, sent by a program that listens on this computer. */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { authorizationRequest, publicAgent, STATE, startDoor } from '../../support/authorize/door.ts';
import { type NativeClient, startNativeClient } from '../../support/authorize/native-client.ts';
import { accessibilityFaults, closeBrowser, screenshot, signedInPages } from '../../support/browser.ts';
import { databasesByLength } from '../../support/databases.ts';
import { ada } from '../../support/identity-provider/people.ts';
import { fieldsOf, type Mandate } from '../../support/mandate.ts';
import type { PageWithProvider } from '../../support/me/person-browser.ts';

for (const database of databasesByLength) {
  describe(`The page of /oauth2/authorize in a browser on ${database.name}`, function () {
    this.timeout(120_000);
    let running: PageWithProvider;
    let mandate: Mandate;
    let client: NativeClient;
    let agentId: string;
    before(async () => {
      running = await startDoor(database);
      mandate = running.mandate;
      client = await startNativeClient();
      // Registered without the port that the program then has.
      agentId = await publicAgent(mandate, { redirect_uris: ['http://127.0.0.1/cb'] });
    });
    after(async () => {
      await closeBrowser();
      await client.stop();
      await running.stop();
    });

    const openSignedIn = signedInPages();
    const opened = (options: BrowserContextOptions = {}, changes: Record<string, string> = {}) =>
      openSignedIn(
        `${mandate.issuer}/oauth2/authorize?${authorizationRequest(agentId, { redirect_uri: client.redirectUri, ...changes })}`,
        ada,
        options,
      );
    /** The second passes in which no choice takes a click. */
    const settle = (page: Page) =>
      page.evaluate('for (const animation of document.getAnimations()) animation.finish()');
    const lastAnswer = () => client.answers.at(-1);
    const shot = (page: Page, name: string) => screenshot(page, `${database.name} authorize ${name}`);

    it('shows who asks, and gives less than was asked for: one scope, and an earlier end', async () => {
      const page = await opened();
      await page.getByRole('heading', { level: 1, name: 'May Ticket program act for you?' }).waitFor();
      expect(await page.locator('main').innerText())
        .to.contain('cannot prove its name')
        .and.contain('a program on this computer')
        .and.contain('jira.example');
      expect(await accessibilityFaults(page)).to.deep.equal([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).to.equal(0);
      await shot(page, '1 question');
      await page.getByLabel('jira:comment').uncheck();
      await page.getByLabel('For how long').selectOption({ label: '15 minutes' });
      await settle(page);
      const records = await mandate.recorded(async () => {
        await page.getByRole('button', { name: 'Allow' }).click();
        await page.getByRole('heading', { name: 'Back in the program' }).waitFor();
      });
      expect(fieldsOf(records, 'event', 'scope', 'sponsor')).to.deep.equal([
        ['authorization.allowed', 'jira:read', ada.username],
      ]);
      expect(lastAnswer()?.method).to.equal('GET');
      expect(lastAnswer()?.parameters).to.include({ state: STATE, iss: mandate.issuer }).and.to.have.property('code');
      // Back, and once more: the page says that it was answered.
      await page.goBack();
      await page.getByRole('heading', { name: 'You have already allowed this' }).waitFor();
      await shot(page, '2 answered');
      await page.context().close();
    });

    it('lets the host of a program lead on to a private scheme, as hosts of programs on a phone do', async () => {
      const leading = await startNativeClient('stockapp://done');
      try {
        const page = await opened({}, { redirect_uri: leading.redirectUri });
        await page.getByRole('heading', { level: 1 }).waitFor();
        await settle(page);
        // No program has this scheme here. A policy that forbids the address ends the request of the form instead.
        const left = page.waitForEvent('requestfailed', (request) => request.url().startsWith('stockapp:'));
        await page.getByRole('button', { name: 'Allow' }).click({ noWaitAfter: true });
        await left;
        expect(leading.answers).to.have.lengthOf(1);
        await page.context().close();
      } finally {
        await leading.stop();
      }
    });

    it('is answered by keyboard, in German, in the dark and without script: no key but that of a button answers', async () => {
      const page = await opened({ javaScriptEnabled: false, locale: 'de', colorScheme: 'dark' }, { prompt: 'consent' });
      await page.getByRole('heading', { name: 'Darf Ticket program für Sie handeln?' }).waitFor();
      await shot(page, '3 German');
      const loaded = page.waitForEvent('load');
      await page.getByLabel('jira:read').focus();
      await page.keyboard.press('Enter');
      await loaded;
      await page.getByLabel('jira:read').focus();
      await page.keyboard.press('Space');
      expect(await page.getByLabel('jira:read').isChecked()).to.equal(false);
      // Said where the person mends it: the focus is there, and a screen reader reads the sentence with the group.
      await page.getByLabel('jira:comment').uncheck();
      await settle(page);
      await page.getByRole('button', { name: 'Erlauben' }).click();
      const sentence = 'Wählen Sie mindestens eines, oder lehnen Sie ab.';
      await page.getByText(sentence).waitFor();
      const group = page.getByRole('group', { name: 'Was der Agent darf', description: sentence });
      expect(await group.locator(':focus').getAttribute('value')).to.equal('jira:read');
      await shot(page, '4 nothing chosen');
      const records = await mandate.recorded(async () => {
        await page.getByRole('button', { name: 'Ablehnen' }).focus();
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'Back in the program' }).waitFor();
      });
      expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([['authorization.refused', 'consent_refused']]);
      expect(lastAnswer()?.parameters).to.include({ error: 'access_denied', state: STATE, iss: mandate.issuer });
      await page.context().close();
    });

    it('takes no click in its first second, nor in the first after it came to the front, and one click of two', async () => {
      const page = await opened();
      const allow = page.getByRole('button', { name: 'Allow' });
      await allow.scrollIntoViewIfNeeded();
      const { x = 0, y = 0, width = 0, height = 0 } = (await allow.boundingBox()) ?? {};
      const press = () => page.mouse.click(x + width / 2, y + height / 2);
      const isBusy = () => page.evaluate('document.getAnimations().length > 0');
      // Paused: on a busy machine the second could be over before the click arrives.
      const hold =
        'for (const animation of document.getAnimations()) { animation.currentTime = 0; animation.pause(); }';
      await page.evaluate(hold);
      await press();
      expect(page.url()).to.contain('/oauth2/authorize/areq_');
      await settle(page);
      // Another window was in front of it.
      expect(await isBusy()).to.equal(false);
      await page.evaluate(`dispatchEvent(new Event('focus')); ${hold}`);
      expect(await isBusy()).to.equal(true);
      await press();
      expect(page.url()).to.contain('/oauth2/authorize/areq_');
      await settle(page);
      const before = client.answers.length;
      await page.evaluate(
        `const button = document.querySelector('button[value=allow]'); button.click(); button.click();`,
      );
      await page.getByRole('heading', { name: 'Back in the program' }).waitFor();
      expect(client.answers.length).to.equal(before + 1);
      expect(lastAnswer()?.parameters).to.have.property('code');
      await page.context().close();
    });
  });
}
