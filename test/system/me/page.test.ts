/** The person's page in a real browser: signed in at a real provider, against the running service, on both databases. */

import { expect } from 'chai';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { ulid } from 'ulid';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { accessibilityFaults, browse, closeBrowser, expectSaid, screenshot, signIn } from '../../support/browser.ts';
import { databasesByLength } from '../../support/databases.ts';
import { ada } from '../../support/identity-provider/people.ts';
import { fieldsOf, type RegisteredAgent } from '../../support/mandate.ts';
import { type PageWithProvider, startWithPage } from '../../support/me/person-browser.ts';

const A_TASK = 'task_01JDCK0000000000000000N0NE';
/** Addresses that no page of ours has. */
const MALFORMED = [
  ...['?after=nonsense', `?before=${A_TASK}`, `?after=${A_TASK}&after=${A_TASK}`, '?after=%FF'],
  ...['/agent', '/agent?task=nonsense', `/agent?after=${A_TASK}`, `/agent?task=${A_TASK}&after=x`],
  ...['/ended?after=nonsense', `/ended?task=${A_TASK}`],
];

for (const database of databasesByLength) {
  describe(`The person's page in a browser on ${database.name}`, function () {
    this.timeout(120_000);
    let running: PageWithProvider;
    let triage: RegisteredAgent;
    let travel: RegisteredAgent;

    before(async () => {
      running = await startWithPage(database);
      triage = await running.mandate.agent({ display_name: 'Jira triage' });
      travel = await running.mandate.agent({ display_name: 'Travel planner' });
    });
    after(async () => {
      await closeBrowser();
      await running.stop();
    });

    // A test that fails leaves tasks, a block or another time behind. The next test must not fail for that.
    beforeEach(async () => {
      const { mandate } = running;
      mandate.clock.advance(Math.round((Date.now() - mandate.clock.now() / 1000) / 1000));
      await mandate.sql('delete from sponsor_blocks');
      expect((await mandate.admin('DELETE', `/admin/sponsors/${ada.username}/tasks`)).status).to.equal(200);
    });

    const signedIn = async (options?: BrowserContextOptions): Promise<Page> => {
      const page = await (await browse(options)).newPage();
      await page.goto(`${running.mandate.issuer}/me`);
      await signIn(page);
      return page;
    };
    const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name }).click();
    const shot = (page: Page, name: string) => screenshot(page, `${database.name} ${name}`);
    const task = async (agent: RegisteredAgent): Promise<string> => String((await agent.exchange()).body.task_id);
    const endTimes = (page: Page) =>
      page.locator('.history time').evaluateAll((all) => all.map((time) => time.getAttribute('datetime')));
    /** Copies the agent's newest task. @param agentId the agent of each copy, as SQL */
    const crowd = async (agent: RegisteredAgent, count: number, agentId = 'agent_id'): Promise<readonly string[]> => {
      const ids = Array.from({ length: count }, () => makeTaskId(ulid()));
      await running.mandate.sql(`
        insert into tasks (task_id, agent_id, sponsor_key, sponsor, audience, scope, delegation_depth, created_at, expires_at)
        with others (new_id) as (values ${ids.map((id) => `('${id}')`).join()})
        select new_id, ${agentId}, sponsor_key, sponsor, audience, scope, delegation_depth, created_at, expires_at
        from (select * from tasks where agent_id = '${agent.id}' order by task_id desc limit 1) newest, others`);
      await running.mandate.sql(`
        insert into task_grants (grant_hash, task_id, scope)
        select 'grant of ' || task_id, task_id, scope from tasks where task_id in (${ids.map((id) => `'${id}'`).join()})`);
      return ids;
    };
    const pauseAll = async (page: Page): Promise<void> => {
      await page.locator('summary', { hasText: 'Pause agents' }).click();
      await press(page, 'Pause all agents');
    };

    it('signs in, stops a task, an agent and everything, and signs out', async () => {
      const { mandate } = running;
      const tasks = [await task(triage), await task(triage), await task(triage), await task(travel)];
      const page = await signedIn();
      expect(await page.locator('.task dl').count()).to.equal(4);
      expect(await accessibilityFaults(page)).to.deep.equal([]);
      await shot(page, '1 tasks');
      const records = await mandate.recorded(async () => {
        await page.locator(`[id="${tasks[0]}"]`).getByRole('button').click();
        await expectSaid(page, '1 task stopped.');
        await shot(page, '2 stopped one');
        await press(page, 'Stop all 2 tasks of Jira triage');
        await expectSaid(page, '2 tasks stopped.');
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
      const { mandate } = running;
      const [id] = [await task(triage)];
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
      expect((await triage.exchange()).body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
      await shot(page, '5 paused');
      expect(await page.locator('summary', { hasText: 'Pause agents' }).count()).to.equal(0);

      // The sign-in is now too old for this service. The provider has forgotten the person, so it asks again.
      mandate.clock.advance(400);
      await page.context().clearCookies({ name: /^_[^_]/ });
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

    it('lifts no pause if the sign-in turns too old between the page and its form, and records it with the person', async () => {
      const { mandate } = running;
      const page = await signedIn();
      await pauseAll(page);
      await page.goto(`${mandate.issuer}/me/sign-in?to=resume`);
      mandate.clock.advance(301);
      const records = await mandate.recorded(async () => {
        await press(page, 'Let agents act for me again');
        await page.getByRole('link', { name: 'Let agents act for me again' }).waitFor();
      });
      expect(page.url()).to.equal(`${mandate.issuer}/me/resume`);
      expect(fieldsOf(records, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
        ['me.denied', 'deny', 'sign_in_too_old', ada.username],
      ]);
      expect((await triage.exchange()).body.reason).to.equal('sponsor_disabled');
      mandate.clock.advance(-301);
      await page.reload();
      await press(page, 'Let agents act for me again');
      await expectSaid(page, 'Agents may act for you again.');
      await page.context().close();
    });

    it('shows a blocked person their tasks and the stop, and resumes nothing for them until the block is lifted', async () => {
      const { mandate } = running;
      await task(triage);
      const page = await signedIn();
      const stale = await page.context().newPage();
      await stale.goto(`${mandate.issuer}/me`);
      await mandate.block(ada.username, 'disabled');
      await stale.locator('.task button').first().click();
      await expectSaid(stale, 'No task was running.');
      await page.reload();
      expect(await page.locator('.history li').first().textContent()).to.contain('An administrator blocked agents');
      await pauseAll(page);
      expect(await page.locator('.banner h2').allTextContents()).to.deep.equal([
        ...['Your organisation has blocked agents for you', 'Agents are paused'],
      ]);
      await shot(page, '9 blocked and paused');
      expect(await page.locator('#resume').count()).to.equal(0);
      await page.goto(`${mandate.issuer}/me/sign-in?to=resume`);
      const records = await mandate.recorded(async () => {
        await press(page, 'Let agents act for me again');
        await page.getByRole('heading', { name: 'Only your organisation can lift this' }).waitFor();
      });
      expect(fieldsOf(records, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
        ['sponsor.unblocked', 'deny', 'sponsor_block_not_owned', ada.username],
      ]);
      expect((await triage.exchange()).body.reason).to.equal('sponsor_disabled');
      expect((await mandate.admin('DELETE', `/admin/sponsors/${ada.username}/block`)).status).to.equal(204);
      expect((await triage.exchange()).body.reason).to.equal('sponsor_disabled');
      await page.goto(`${mandate.issuer}/me/resume`);
      await press(page, 'Let agents act for me again');
      await expectSaid(page, 'Agents may act for you again.');
      expect((await triage.exchange()).status).to.equal(200);
      await page.context().close();
    });

    it('shows twenty agents, and on the next page the others with the same totals', async () => {
      const { mandate } = running;
      await task(triage);
      await crowd(triage, 24, "'gone_' || new_id");
      const page = await signedIn({ javaScriptEnabled: false });
      const totals = () => page.locator('#live ~ .quiet').textContent();
      expect(await totals()).to.equal('25 tasks by 25 agents');
      const names = await page.locator('.card h3').allTextContents();
      await page.getByRole('link', { name: 'More agents' }).click();
      expect(page.url()).not.to.contain('gone_');
      expect(await totals()).to.equal('25 tasks by 25 agents');
      const rest = await page.locator('.card h3').allTextContents();
      expect([names.length, rest.length, new Set([...names, ...rest]).size]).to.deep.equal([20, 5, 25]);
      // Ended tasks are on the first page.
      expect(await page.locator('.history').count()).to.equal(0);
      await page.getByRole('link', { name: 'Back to my tasks' }).click();
      await page.waitForURL(`${mandate.issuer}/me`);
      await page.context().close();
    });

    it('shows the ten latest ended tasks, and all of them on pages of their own, the latest end first', async () => {
      const { mandate } = running;
      await task(triage);
      await crowd(triage, 119);
      await mandate.admin('DELETE', `/admin/sponsors/${ada.username}/tasks`);
      const page = await signedIn();
      expect(await page.locator('.history li').count()).to.equal(10);
      const rows = await mandate.sql(
        `select count(*) as ended from tasks where sponsor_key = '${ada.username}' and ended_at is not null`,
      );
      const seen = await endTimes(page);
      const more = page.getByRole('link', { name: 'More ended tasks' });
      while ((await more.count()) > 0) {
        const from = page.url();
        await more.click();
        await page.waitForURL(({ href }) => href !== from);
        seen.push(...(await endTimes(page)));
      }
      expect(seen).to.have.lengthOf(Number(rows[0]?.ended));
      expect(seen).to.deep.equal(seen.toSorted().reverse());
      await page.getByRole('link', { name: 'Back to my tasks' }).click();
      await page.waitForURL(`${mandate.issuer}/me`);
      await page.context().close();
    });

    it('shows a person with 1,000 tasks each agent once, the tasks of an agent in pages, and stops them there', async () => {
      const { mandate } = running;
      const others = [await task(triage), ...(await crowd(triage, 992))];
      await task(travel);
      const page = await signedIn({ javaScriptEnabled: false });
      expect(await page.locator('#live ~ .quiet').textContent()).to.equal('994 tasks by 2 agents');
      expect(await page.locator('.card h3').allTextContents()).to.deep.equal(['Travel planner', 'Jira triage']);
      await shot(page, '10 many tasks');
      await page.getByRole('link', { name: 'Jira triage' }).click();
      expect(await page.locator('h1, #live ~ .quiet').allTextContents()).to.deep.equal(['Jira triage', '993 tasks']);
      // The browser keeps addresses and titles.
      expect(`${page.url()} ${await page.title()}`)
        .not.to.contain(triage.id)
        .and.not.to.contain('Jira triage');
      const shown: string[] = [];
      const next = page.getByRole('link', { name: 'More tasks' });
      for (;;) {
        const ids = await page.locator('.task[id]').evaluateAll((tasks) => tasks.map(({ id }) => id));
        shown.push(...ids);
        if ((await next.count()) === 0) break;
        await next.click();
      }
      expect(shown).to.deep.equal(others.toSorted().reverse());
      const from = page.url();
      const records = await mandate.recorded(async () => {
        await page.locator('.task button').last().click();
        await expectSaid(page, '1 task stopped.');
        // The form leads back to its page.
        expect(page.url()).to.equal(from);
        await press(page, 'Stop all 992 tasks of Jira triage');
        await expectSaid(page, '992 tasks stopped.');
      });
      expect(new Set(fieldsOf(records, 'event', 'reason', 'sponsor').map(String))).to.deep.equal(
        new Set([`task.revoked,sponsor_stopped,${ada.username}`]),
      );
      expect(records).to.have.lengthOf(993);
      // Of few tasks the first page shows all.
      expect(await page.locator('.task dl').count()).to.equal(1);
      await page.goto(from);
      expect(await page.locator('#renewed .card').allTextContents()).to.deep.equal([
        'This agent does not act for you right now.',
      ]);
      await page.context().close();
    });

    it('stops renewing itself five minutes after the last touch, so that the session can end', async () => {
      const { mandate } = running;
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
      const id = await task(triage);
      const page = await signedIn({ javaScriptEnabled: false, locale: 'de', colorScheme: 'dark' });
      await page.locator('summary', { hasText: 'Agenten pausieren' }).click();
      await shot(page, '7 without script');
      await page.locator(`[id="${id}"]`).getByRole('button', { name: 'Stoppen' }).click();
      await expectSaid(page, '1 Aufgabe gestoppt.');
      await page.locator('summary', { hasText: 'Agenten pausieren' }).click();
      await press(page, 'Alle Agenten pausieren');
      await expectSaid(page, 'Agenten sind pausiert. Es lief keine Aufgabe.');
      await press(page, 'Agenten wieder erlauben');
      await expectSaid(page, 'Agenten dürfen wieder für Sie handeln.');
      await page.context().close();
    });

    it('shows in a second tab what the first one stopped, and stops it once', async () => {
      const { mandate } = running;
      const id = await task(triage);
      const first = await signedIn();
      const second = await first.context().newPage();
      await second.goto(`${mandate.issuer}/me`);
      const stop = (page: Page) => page.locator(`[id="${id}"]`).getByRole('button').click();
      const records = await mandate.recorded(async () => {
        await stop(first);
        await expectSaid(first, '1 task stopped.');
        await stop(second);
        await expectSaid(second, 'No task was running.');
      });
      expect(fieldsOf(records, 'event', 'task_id')).to.deep.equal([['task.revoked', id]]);
      await first.context().close();
    });

    it('renews itself while it is visible: it shows a new task, and keeps an open question and the focus', async () => {
      const page = await signedIn();
      await page.clock.install();
      await page.reload();
      await page.locator('summary', { hasText: 'Pause agents' }).click();
      const id = await task(travel);
      await page.clock.fastForward(15_000);
      await page.locator(`[id="${id}"]`).waitFor();
      expect(await page.getByRole('button', { name: 'Pause all agents' }).isVisible()).to.equal(true);
      expect(await page.evaluate('document.activeElement.textContent')).to.equal('Pause agents');
      await page.context().close();
    });

    it('hides the tasks when the session has ended elsewhere, and refuses a form with a page that says so', async () => {
      const { mandate } = running;
      const id = await task(triage);
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
      const { mandate } = running;
      const id = await task(triage);
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

    it('tells a person, and not a program, about a wrong task and an address that cannot be read with a page', async () => {
      const { mandate } = running;
      const page = await signedIn();
      const html = { accept: 'text/html' };
      const cookies = await page.context().cookies(mandate.issuer);
      const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
      const token = (await page.locator('[name=form_token]').first().getAttribute('value')) ?? '';
      const post = (path: string, headers: Record<string, string>) =>
        mandate.post(path, { form_token: token }, { cookie, origin: mandate.issuer, ...headers });
      const others = (await triage.exchangeFor({ sub: 'grace' })).body;
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
      const { mandate } = running;
      await task(triage);
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

    it('keeps a session whose cookie a form of another site did not bring, so that no other site signs a person out', async () => {
      const { mandate } = running;
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

    it('sends every page with a strict policy, never stored, and its files with a year', async () => {
      const { mandate } = running;
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
  });
}
