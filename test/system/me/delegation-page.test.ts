/** A person refuses that an agent hands work to other agents, and allows it again, at the page `/me` with a real provider. */

import { expect } from 'chai';
import { databasesByLength } from '../../support/databases.ts';
import { delegationAt, heldTask } from '../../support/delegation.ts';
import { ada, grace } from '../../support/identity-provider/people.ts';
import { encodeForm, fieldsOf, type Mandate, type RegisteredAgent } from '../../support/mandate.ts';
import { personBrowser } from '../../support/me/person-browser.ts';
import { expectNotice, FORM, formToken, siteWithProvider } from './sign-in/site.ts';

const REFUSED = 'This agent may not hand work to other agents: you refused it.';

for (const database of databasesByLength) {
  describe(`Handing work over, at the page /me on ${database.name}`, function () {
    this.timeout(60_000);
    const site = siteWithProvider(database, { 'Service:Delegation:Enabled': 'true' });
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let task: string;
    before(async () => {
      mandate = site.mandate;
      agent = await mandate.agent({ display_name: 'Jira triage' });
      task = String((await agent.exchangeFor({ sub: ada.username })).body.task_id);
    });

    const open = (path: string, cookie: string, language = 'en') =>
      mandate.get(path, { accept: 'text/html', cookie, 'accept-language': language });
    const send = (path: string, cookie: string, fields: Readonly<Record<string, string>>, at = mandate) => {
      const headers = { cookie, origin: mandate.issuer, accept: 'text/html', ...FORM };
      return at.send(path, { method: 'POST', headers, body: encodeForm(fields) });
    };
    const post = (choice: 'refuse' | 'allow', cookie: string, fields: Readonly<Record<string, string>> = {}) =>
      send(`/me/delegation/${choice}`, cookie, { form_token: formToken(cookie), agent_id: agent.id, ...fields });
    const recordsOf = (lines: Awaited<ReturnType<Mandate['recorded']>>) =>
      fieldsOf(lines, 'event', 'decision', 'reason', 'sponsor', 'detail');

    it('shows a task below the one that it came from, and stops it alone', async () => {
      const deep = { max_delegation_depth: 2 };
      const child = await mandate.agent({ ...deep, display_name: 'Jira reader' });
      const parent = await mandate.agent({ ...deep, display_name: 'Jira lead', delegates_to: [child.id] });
      const root = heldTask(await parent.exchangeFor({ sub: ada.username }));
      const below = await delegationAt(mandate).handOver(parent, child, root);
      const cookie = await site.signedIn();
      const page = (await open(`/me/tasks/${below.taskId}`, cookie)).text;
      const tree = page.slice(page.indexOf('id="tree"'));
      expect(tree.indexOf('Jira lead')).to.be.greaterThan(0).and.to.be.below(tree.indexOf('Jira reader'));
      expect((await open(`/me/tasks/${below.taskId}`, cookie, 'de')).text).to.contain('Aufgaben, die zusammengehören');
      expect((await open('/me', cookie)).text).to.contain('Stopping it also ends the tasks below it.');
      const stopped = await mandate.recorded(async () => {
        await send(`/me/tasks/${below.taskId}/stop`, cookie, { form_token: formToken(cookie) });
      });
      expect(fieldsOf(stopped, 'event', 'task_id', 'reason')).to.deep.equal([
        ['task.revoked', below.taskId, 'sponsor_stopped'],
      ]);
      const strangers = await site.signedIn(grace);
      expect((await open(`/me/tasks/${root.taskId}`, strangers)).status, 'another person').to.equal(404);
    });

    it('says after a stop how many tasks ended, and names the agent only if one did', async () => {
      const deep = { max_delegation_depth: 2 };
      const child = await mandate.agent({ ...deep, display_name: 'Wiki reader' });
      const parent = await mandate.agent({ ...deep, display_name: 'Wiki lead', delegates_to: [child.id] });
      const [one, two] = [
        await parent.exchangeFor({ sub: ada.username }),
        await parent.exchangeFor({ sub: ada.username }),
      ];
      const [alone, root] = [heldTask(one), heldTask(two)];
      await delegationAt(mandate).handOver(parent, child, root);
      const person = personBrowser(mandate);
      await person.signIn();
      const saidAfterStop = async (taskId: string) => {
        const cookie = person.cookies();
        const answer = await send(`/me/tasks/${taskId}/stop`, cookie, { form_token: formToken(cookie) });
        const [flash] = answer.headers.getSetCookie().map((set) => set.split(';')[0]);
        const { text } = await open('/me', `${cookie}; ${flash}`);
        return (/role="status"[^>]*>(.*?)<\/p>/s.exec(text)?.[1] ?? text).replaceAll(/<[^>]*>/g, '');
      };
      expect(await saidAfterStop(root.taskId)).to.equal('2 tasks stopped.');
      expect(await saidAfterStop(alone.taskId)).to.equal('1 task of Wiki lead stopped.');
    });

    it('refuses at the page of the agent, says so in both languages, and allows again', async () => {
      const cookie = await site.signedIn();
      const page = `/me/agent?task=${task}`;
      expect((await open('/me', cookie)).text).to.contain(`href="${page}#delegation"`);
      expect((await open(page, cookie)).text).to.contain('May not hand work to other agents');
      for (const [choice, event, english, german, isRefused] of [
        [
          'refuse',
          'delegation.refused',
          'may not hand work to other agents any more.',
          'darf keine Arbeit mehr an andere Agenten weitergeben.',
          true,
        ],
        [
          'allow',
          'delegation.allowed',
          'may hand work to other agents again.',
          'darf wieder Arbeit an andere Agenten weitergeben.',
          false,
        ],
      ] as const) {
        const lines = await mandate.recorded(async () => {
          const answer = await post(choice, cookie, { task });
          expect([answer.status, answer.headers.get('location')], answer.text).to.deep.equal([303, page]);
          const [notice = ''] = answer.headers.getSetCookie().map((set) => set.split(';')[0]);
          const [said, gesagt] = [
            await open(page, `${cookie}; ${notice}`),
            await open(page, `${cookie}; ${notice}`, 'de'),
          ];
          expect(said.text).to.match(new RegExp(`Jira triage.{0,40}${english}`));
          expect(gesagt.text).to.match(new RegExp(`Jira triage.{0,40}${german}`));
          for (const path of [page, '/me']) {
            expect((await open(path, cookie)).text.includes(REFUSED), path).to.equal(isRefused);
          }
          expect((await open('/me', cookie)).text.includes('href="/me/delegation"')).to.equal(isRefused);
          expect((await open('/me/delegation', cookie)).text.includes('Jira triage')).to.equal(isRefused);
        });
        expect(recordsOf(lines)).to.deep.equal([[event, 'allow', null, ada.username, `agent=${agent.id}`]]);
      }
    });

    it('leads to a sign-in that must be recent before the permission, and refuses the form of an old page, with its record', async () => {
      const cookie = await site.signedIn();
      await post('refuse', cookie);
      const begun = await mandate.get('/me/sign-in?to=delegation');
      expect(new URL(begun.headers.get('location') ?? '').searchParams.get('max_age')).to.equal('300');
      const person = personBrowser(mandate);
      const answer = await person.signIn('/me/sign-in?to=delegation');
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([302, '/me/delegation']);

      const again = await person.returnAddress('/me/sign-in?to=delegation');
      mandate.clock.advance(600);
      expectNotice(await person.finish(again), 403, 'Sign in again to let an agent hand work over');
      const list = await open('/me/delegation', cookie);
      expect(list.text).to.contain('href="/me/sign-in?to=delegation"').and.not.contain('/me/delegation/allow');
      const lines = await mandate.recorded(async () => {
        const late = await post('allow', cookie);
        expect([late.status, late.headers.get('location')]).to.deep.equal([303, '/me/delegation']);
      });
      expect(recordsOf(lines)).to.deep.equal([['me.denied', 'deny', 'sign_in_too_old', ada.username, undefined]]);
      mandate.clock.advance(-600);
      expect((await open('/me/delegation', cookie)).text).to.contain('Jira triage');
      expect((await post('allow', cookie)).status).to.equal(303);
    });

    it('says before a refusal that the person could never allow it again, where the sign-in has no date', async () => {
      const cookie = await site.signedIn(grace);
      const own = String((await agent.exchangeFor({ sub: grace.username })).body.task_id);
      await mandate.sql(`update sessions set authenticated_at = null where sub = '${grace.username}'`);
      expect((await open(`/me/agent?task=${own}`, cookie)).text).to.contain('You could not allow it again here');
      const lines = await mandate.recorded(async () => {
        expect((await post('refuse', cookie)).status).to.equal(303);
        expect((await post('allow', cookie)).status).to.equal(303);
      });
      expect(recordsOf(lines).map(([event, , reason]) => [event, reason])).to.deep.equal([
        ['delegation.refused', null],
        ['me.denied', 'sign_in_too_old'],
      ]);
    });

    it('answers a form about no agent, a form of another page, and one of no session with a message, and changes nothing', async () => {
      const cookie = await site.signedIn();
      expectNotice(await post('refuse', cookie, { agent_id: 'nobody' }), 404, 'There is no such agent');
      expectNotice(await post('refuse', cookie, { agent_id: '' }), 404, 'There is no such agent');
      expectNotice(await post('refuse', cookie, { form_token: 'x' }), 403, 'Nothing was changed');
      expectNotice(await send('/me/delegation/refuse', '', { agent_id: agent.id }), 401, 'Your sign-in has ended');
      expect(
        await mandate.sql(`select 1 from delegation_refusals where sponsor_key = '${ada.username}'`),
      ).to.deep.equal([]);
    });

    it('has no such page, form and sign-in where the feature is off', async () => {
      const cookie = await site.signedIn();
      const off = await mandate.another({ 'Service:Delegation:Enabled': '' });
      const headers = { accept: 'text/html', cookie };
      expectNotice(await off.get('/me/delegation', headers), 404, 'There is nothing here');
      const form = { form_token: formToken(cookie), agent_id: agent.id };
      expect((await send('/me/delegation/refuse', cookie, form, off)).status).to.equal(
        (await send('/me/no-such/form', cookie, form, off)).status,
      );
      expectNotice(await off.get('/me/sign-in?to=delegation', headers), 400, 'href="/me/sign-in"');
      for (const path of ['/me', `/me/agent?task=${task}`]) {
        expect((await off.get(path, headers)).text).not.to.match(/delegation|hand work/i);
      }
      expect(await off.sql('select 1 from delegation_refusals')).to.have.length(1);
      await off.stop();
    });
  });
}
