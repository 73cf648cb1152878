/** The way back from `/oauth2/authorize` in a real browser, under the policy of the page: https, loopback and private schemes alike. */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { authorizationRequest, CALLBACK, publicAgent, STATE, startDoor } from '../../support/authorize/door.ts';
import { startNativeClient } from '../../support/authorize/native-client.ts';
import {
  accessibilityFaults,
  browse,
  closeBrowser,
  devices,
  screenshot,
  signedInPages,
} from '../../support/browser.ts';
import { databases } from '../../support/databases.ts';
import { ada } from '../../support/identity-provider/people.ts';
import type { Mandate } from '../../support/mandate.ts';
import type { PageWithProvider } from '../../support/me/person-browser.ts';

const [database] = databases;

describe('The way back from /oauth2/authorize in a browser', function () {
  this.timeout(180_000);
  let running: PageWithProvider;
  let mandate: Mandate;
  let agentId: string;
  before(async () => {
    if (database === undefined) throw new Error('there is a database');
    running = await startDoor(database);
    mandate = running.mandate;
    agentId = await publicAgent(mandate, {
      redirect_uris: [CALLBACK, 'http://127.0.0.1/cb', 'http://[::1]/cb', 'cursor://open/cb'],
    });
  });
  after(async () => {
    await closeBrowser();
    await running.stop();
  });

  const openSignedIn = signedInPages();
  const opened = (redirect_uri: string, options: BrowserContextOptions = {}) =>
    openSignedIn(`${mandate.issuer}/oauth2/authorize?${authorizationRequest(agentId, { redirect_uri })}`, ada, options);
  const press = async (page: Page, name: string) => {
    await page.evaluate('for (const animation of document.getAnimations()) animation.finish()');
    await page.getByRole('button', { name }).click();
  };

  for (const host of ['127.0.0.1', '[::1]'] as const) {
    it(`leads to a program that listens on ${host}, and from there to a page on the web`, async () => {
      const client = await startNativeClient('https://client.example/done', host);
      const page = await opened(client.redirectUri);
      // A policy that forbids the redirect stops the browser before this request.
      const done = page.waitForRequest('https://client.example/done');
      await press(page, 'Allow');
      expect((await done).headers()).not.to.have.property('referer');
      expect(client.answers.map(({ method }) => method)).to.deep.equal(['GET']);
      expect(client.answers[0]?.parameters).to.include({ state: STATE, iss: mandate.issuer });
      await page.context().close();
      await client.stop();
    });
  }

  it('leads to an https address, with nothing of the page in the referrer', async () => {
    const page = await opened(CALLBACK);
    const away = page.waitForRequest((request) => request.url().startsWith('https://client.example/'));
    await press(page, 'Refuse');
    const request = await away;
    expect(new URL(request.url()).searchParams.get('error')).to.equal('access_denied');
    expect([request.method(), request.headers().referer]).to.deep.equal(['GET', undefined]);
    await page.context().close();
  });

  it('leads to a private scheme: the browser hands it to the system, and no policy is violated', async () => {
    const page = await opened('cursor://open/cb');
    expect(await page.locator('main').innerText())
      .to.contain('a program on this device')
      .and.contain('cursor:');
    const violations: string[] = [];
    page.on('console', (message) => violations.push(message.text()));
    const answered = page.waitForResponse((response) => response.request().method() === 'POST');
    await press(page, 'Allow');
    expect((await (await answered).allHeaders()).location).to.match(/^cursor:\/\/open\/cb\?code=mandate_code_/);
    await page.waitForTimeout(500);
    expect(violations.filter((text) => /Content.Security.Policy|form-action/i.test(text))).to.deep.equal([]);
    await page.context().close();
  });

  it('fits a phone and a desktop, in both languages, in the light and in the dark, and without axe finding anything', async () => {
    for (const [name, options] of Object.entries({
      'phone English': devices.phone,
      'phone German dark': { ...devices.phone, locale: 'de', colorScheme: 'dark' as const },
      'desktop English dark': { ...devices.desktop, colorScheme: 'dark' as const },
    })) {
      const page = await opened(CALLBACK, options);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await accessibilityFaults(page), name).to.deep.equal([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), name).to.equal(0);
      await screenshot(page, `authorize ${name}`);
      await page.context().close();
    }
  });

  it('is shown in no frame, and says so without cookies that the question is over', async () => {
    const page = await opened(CALLBACK);
    const question = page.url();
    const attacker = await page.context().newPage();
    await attacker.setContent(`<iframe src="${question}"></iframe>`);
    await attacker.waitForTimeout(500);
    const frame = attacker.frames().find((each) => each !== attacker.mainFrame());
    expect(frame?.url()).not.to.contain('areq_');
    const other = await (await browse()).newPage();
    await other.goto(question);
    await other.getByRole('heading', { name: 'This question is over' }).waitFor();
    await other.context().close();
    await page.context().close();
  });

  it("keeps few of the requests that another site's form sends, and the person still comes to the page where agents stop", async () => {
    const context = await browse();
    const page = await context.newPage();
    const state = "'".repeat(1800);
    const fields = [...new URLSearchParams(authorizationRequest(agentId, { state }))].map(
      ([name, value]) => `<input name="${name}" value="${value}">`,
    );
    const body = `<form method="post" action="${mandate.issuer}/oauth2/authorize">${fields.join('')}</form>`;
    await page.route('http://other-site.example/', (route) => route.fulfill({ contentType: 'text/html', body }));
    for (let nth = 0; nth < 6; nth += 1) {
      await page.goto('http://other-site.example/');
      const begun = page.waitForURL((url) => url.origin === new URL(running.provider.issuer).origin);
      await page.evaluate('document.forms[0].submit()');
      await begun;
    }
    const kept = (await context.cookies()).filter(({ name }) => name.startsWith('__Host-mandate-authorize-'));
    expect(kept).not.to.deep.equal([]);
    expect(kept.map(({ value }) => value).join('').length).to.be.lessThan(7_500);
    expect((await page.goto(`${mandate.issuer}/me`))?.status()).to.equal(200);
    await context.close();
  });
});
