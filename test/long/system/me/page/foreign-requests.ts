/** What the page refuses: forms of other origins and ended sessions, tasks of other people, wrong addresses. */

import { expect } from 'chai';
import { accessibilityFaults } from '../../../../support/browser.ts';
import { ada } from '../../../../support/identity-provider/people.ts';
import { fieldsOf } from '../../../../support/mandate.ts';
import type { PageInBrowser } from './site.ts';

const A_TASK = 'task_01JDCK0000000000000000N0NE';
/** Addresses that no page of ours has. */
const MALFORMED = [
  ...['?after=nonsense', `?before=${A_TASK}`, `?after=${A_TASK}&after=${A_TASK}`, '?after=%FF'],
  ...['/agent', '/agent?task=nonsense', `/agent?after=${A_TASK}`, `/agent?task=${A_TASK}&after=x`],
  ...['/ended?after=nonsense', `/ended?task=${A_TASK}`],
];

export function testForeignRequests(site: PageInBrowser): void {
  const { press, shot, signedIn, task } = site;

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
}
