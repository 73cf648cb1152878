/** What the page refuses: forms of other origins and ended sessions, tasks of other people, wrong addresses. */

import { expect } from 'chai';
import { accessibilityFaults } from '../../../support/browser.ts';
import { ada } from '../../../support/identity-provider/people.ts';
import { fieldsOf } from '../../../support/mandate.ts';
import type { PageInBrowser } from './site.ts';

const A_TASK = 'task_01JDCK0000000000000000N0NE';
/** Addresses that no page of ours has. */
const MALFORMED = [
  ...['?after=nonsense', `?before=${A_TASK}`, `?after=${A_TASK}&after=${A_TASK}`, '?after=%FF'],
  ...['/agent', '/agent?task=nonsense', `/agent?after=${A_TASK}`, `/agent?task=${A_TASK}&after=x`],
  ...['/ended?after=nonsense', `/ended?task=${A_TASK}`],
];

export function testForeignRequests(site: PageInBrowser): void {
  const { pauseAll, press, shot, signedIn, task } = site;

  it('hides the tasks when the session has ended elsewhere, and refuses a form with a page that says so', async () => {
    const { mandate } = site;
    const id = await task(site.triage);
    const page = await signedIn();
    const stale = await page.context().newPage();
    await stale.goto(`${mandate.issuer}/me`);
    await page.clock.install();
    await page.reload();
    await mandate.sql('delete from sessions');
    await page.clock.fastForward(15_000);
    await page.getByRole('alert').waitFor();
    expect(await page.locator('.task').count()).to.equal(0);
    expect(await page.locator('header').textContent()).not.to.include(ada.username);
    expect(await accessibilityFaults(page)).to.deep.equal([]);
    await shot(page, '8 session over');
    const records = await mandate.recorded(async () => {
      await stale.locator(`[id="${id}"]`).getByRole('button').click();
      await stale.getByRole('heading', { name: 'Your sign-in has ended' }).waitFor();
    });
    expect(fieldsOf(records, 'event', 'reason', 'sponsor')).to.deep.equal([['me.denied', 'missing_token', null]]);
    expect((await mandate.ledger()).filter((line) => line.task_id === id)).to.have.lengthOf(1);
    await page.context().close();
  });

  it('refuses a form from another origin, though the browser is signed in, and records it', async () => {
    const { mandate } = site;
    const id = await task(site.triage);
    const page = await signedIn();
    const token = await page.locator('[name=form_token]').first().getAttribute('value');
    // The provider's origin is another one on the same site, so the browser adds the cookie.
    await page.route(`${mandate.provider.issuer}/attack`, (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method=post action="${mandate.issuer}/me/tasks/${id}/stop"><input name=form_token value="${token}"><button>Win</button></form>`,
      }),
    );
    await page.goto(`${mandate.provider.issuer}/attack`);
    const records = await mandate.recorded(async () => {
      await press(page, 'Win');
      await page.getByRole('heading', { name: 'Nothing was changed' }).waitFor();
    });
    expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([['me.denied', 'invalid_form_token']]);
    await page.context().close();
  });

  it('answers a person with a page, and a program without one, for a wrong task and an unreadable address', async () => {
    const { mandate } = site;
    const page = await signedIn();
    const html = { accept: 'text/html' };
    const cookies = await page.context().cookies(mandate.issuer);
    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const token = (await page.locator('[name=form_token]').first().getAttribute('value')) ?? '';
    const post = (path: string, headers: Record<string, string>) =>
      mandate.post(path, { form_token: token }, { cookie, origin: mandate.issuer, ...headers });
    const others = (await site.triage.exchangeFor({ sub: 'grace' })).body;
    const records = await mandate.recorded(async () => {
      const foreign = await post(`/me/tasks/${others.task_id}/stop`, html);
      const unknown = await post('/me/tasks/task_01JDCK0000000000000000NONE/stop', html);
      expect([foreign.status, foreign.text]).to.deep.equal([unknown.status, unknown.text]);
      const foreignAgent = await mandate.get(`/me/agent?task=${others.task_id}`, { cookie, ...html });
      const unknownAgent = await mandate.get(`/me/agent?task=${A_TASK}`, { cookie, ...html });
      expect([foreignAgent.status, foreignAgent.text]).to.deep.equal([404, unknownAgent.text]);
      expect(foreignAgent.text).to.contain('There is no such task');
      for (const address of MALFORMED) {
        const malformed = await mandate.get(`/me${address}`, { cookie, ...html });
        expect([malformed.status, malformed.headers.get('content-type')], address).to.deep.equal([
          400,
          'text/html; charset=utf-8',
        ]);
      }
    });
    // The ledger records no request that names nothing of the person.
    expect(records).to.deep.equal([]);
    expect(await mandate.introspect(String(others.access_token))).to.include({ active: true });
    const unknown = await post('/me/tasks/task_01JDCK0000000000000000NONE/stop', html);
    expect([unknown.status, unknown.text]).to.satisfy(
      ([status, text]: [number, string]) => status === 404 && text.includes('There is no such task'),
    );
    const program = await post('/me/tasks/stop', {});
    expect(program.headers.get('content-type')).to.contain('application/problem+json');
    await page.context().close();
  });

  it('names its origin in every form, which is the only proof of a browser without fetch metadata', async () => {
    const { mandate } = site;
    await task(site.triage);
    const page = await signedIn();
    const origins: unknown[] = [];
    const forms = async (act: () => Promise<unknown>) => {
      const [request] = await Promise.all([page.waitForRequest((request) => request.method() === 'POST'), act()]);
      origins.push((await request.allHeaders()).origin);
    };
    await forms(() => page.locator('.task button').first().click());
    await forms(() => pauseAll(page));
    await page.goto(`${mandate.issuer}/me/sign-in?to=resume`);
    await forms(() => press(page, 'Let agents act for me again'));
    await forms(() => page.getByRole('button', { name: 'Sign out', exact: true }).click());
    expect(origins).to.deep.equal(origins.map(() => mandate.issuer));
    await page.context().close();
  });

  it('keeps the session if the form of another site comes without its cookie: no other site signs a person out', async () => {
    const { mandate } = site;
    const page = await signedIn();
    const session = async () =>
      (await page.context().cookies(mandate.issuer)).find(({ name }) => name === '__Host-mandate-me')?.value;
    const before = await session();
    expect(before).to.have.lengthOf(43);
    await page.route('http://elsewhere.test/', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<form method=post action="${mandate.issuer}/me/sign-out"><button>Win</button></form>`,
      }),
    );
    await page.goto('http://elsewhere.test/');
    await press(page, 'Win');
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await session()).to.equal(before);
    await page.context().close();
  });

  it('sends every page with a strict policy and no-store, and its files with a cache time of a year', async () => {
    const { mandate } = site;
    const page = await signedIn();
    const answer = await page.goto(`${mandate.issuer}/me`);
    const { 'content-security-policy': policy, ...headers } = (await answer?.allHeaders()) ?? {};
    expect(policy?.split('; ')).to.have.members([
      ...["default-src 'none'", "style-src 'self'", "script-src 'self'", "img-src 'self'", "connect-src 'self'"],
      ...["form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"],
    ]);
    expect(headers).to.include({
      'cache-control': 'no-store',
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    });
    const script = (await page.locator('script').first().getAttribute('src')) ?? '';
    const asset = await mandate.get(script);
    expect(asset.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
    await page.context().close();
  });
}
