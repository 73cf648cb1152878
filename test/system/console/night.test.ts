/** What an operator reads at three in the morning: who blocked or ended it and why, what a typing mistake is, what was refused. */

import { expect } from 'chai';
import { type ConsoleService, type OperatorAtConsole, startConsole } from '../../support/console/console-service.ts';
import { insertLiveTasks } from '../../support/console/many-tasks.ts';
import { databasesByLength, sqliteFile } from '../../support/databases.ts';
import { fieldsOf, type RegisteredAgent } from '../../support/mandate.ts';

const MARKUP = '"><b>Incident</b>';
const ESCAPED = '&quot;&gt;&lt;b&gt;Incident&lt;/b&gt;';

/** The text of a page, without its markup. */
const textOf = (page: string) => page.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');

for (const database of databasesByLength) {
  describe(`The console at night, on ${database.name}`, function () {
    this.timeout(60_000);
    let service: ConsoleService;
    let agent: RegisteredAgent;
    let viewer: OperatorAtConsole;
    let auditor: OperatorAtConsole;
    let responder: OperatorAtConsole;

    before(async () => {
      service = await startConsole(database, {
        'Service:Operators:TwoPersonUnblock': 'true',
        'Service:Operators:StopEverything': 'true',
      });
      agent = await service.mandate.agent({ agent_id: 'jira-triage' });
      viewer = await service.signedIn('viewer');
      auditor = await service.signedIn('auditor');
      responder = await service.signedIn('responder');
    });
    after(() => service.stop());

    const start = async (sub: string) => String((await agent.exchangeFor({ sub })).body.task_id);
    const recorded = (work: () => Promise<unknown>) => service.mandate.recorded(work);

    it('shows a block as a red banner; to auditors with who placed it, and why', async () => {
      const fields = { sponsor_key: 'mallory', typed: 'mallory', reason: MARKUP };
      expect((await responder.submit('/people/block', fields)).status).to.equal(303);
      const page = '/people?sponsor=mallory';
      for (const operator of [auditor, viewer]) {
        const { text } = await operator.open(page);
        expect(text).to.include('<div class="banner bad"><p><strong>Blocked.</strong>');
        expect(text.includes(`<q><bdi translate="no">${ESCAPED}</bdi></q>`)).to.equal(operator === auditor);
        expect(text.includes('olga-responder')).to.equal(operator === auditor);
        expect(text.includes('Auditors can read who placed')).to.equal(operator === viewer);
      }
      expect((await auditor.open(page)).text).to.include('Blocks and lifts, the newest first');
    });

    it('shows the second of two people who asked to lift a block, when, and why', async () => {
      await responder.submit('/people/block', { sponsor_key: 'heidi', typed: 'heidi', reason: 'Incident 7' });
      const asked = { sponsor_key: 'heidi', reason: 'A false alarm' };
      expect((await responder.submit('/people/unblock', asked)).status).to.equal(303);
      service.mandate.clock.advance(1);
      await responder.submit('/people/unblock', { sponsor_key: 'mallory', reason: 'Another one' });
      service.mandate.clock.advance(180);
      const second = await service.signedIn('responder', 'registrar');
      const { text } = await second.open('/people?sponsor=heidi');
      const said = textOf(text);
      expect(said).to.match(
        /olga-responder has asked to lift the operators' block, .* \(3 minutes ago\) : A false alarm/,
      );
      expect(said).to.include('A second, different operator must ask as well, until').and.not.include('Another one');
      const hidden = textOf((await viewer.open('/people?sponsor=heidi')).text);
      expect(hidden).to.include('An operator has asked to lift').and.not.include('A false alarm');
      const lift = () => second.submit('/people/unblock', { sponsor_key: 'heidi', reason: 'Yes, a false alarm' });
      expect(fieldsOf(await recorded(lift), 'event', 'reason')[0]).to.deep.equal([
        'sponsor.unblocked',
        'operator_unblocked',
      ]);
    });

    it('shows on the page of a task, and of its record, who ended it, and why', async () => {
      const task = await start('ada');
      await responder.submit('/stop/task', { task_id: task, typed: 'jira-triage', reason: 'It loops' });
      const end = (await service.mandate.ledger()).find(
        (line) => line.task_id === task && line.event === 'task.revoked',
      );
      for (const page of [`/tasks/${task}`, `/tasks/${task}/records/${end?.seq}`]) {
        const { text } = await auditor.open(page);
        expect(text, page).to.include('<q><bdi translate="no">It loops</bdi></q>');
        expect(textOf(text), page).to.match(/Stop of one task by olga-responder \(responder\)/);
      }
      const { text } = await viewer.open(`/tasks/${task}`);
      expect(text).to.include('Auditors can read who ended it').and.not.include('It loops');
    });

    it('keeps what was typed into a form that it refuses, changes nothing, and says why', async () => {
      const task = await start('bob');
      const forms = [
        ['/stop/task', { task_id: task, typed: MARKUP, reason: 'Incident 8' }, ['operator.acted']],
        // The form asks for the id of the agent.
        ['/stop/task', { task_id: task, typed: task, reason: 'Incident 8' }, ['operator.acted']],
        ['/stop/person', { sponsor_key: 'bob', typed: 'bib', reason: MARKUP }, ['operator.acted']],
        ['/stop/agent', { agent_id: 'jira-triage', typed: 'jira-triage', reason: 'x' }, []],
        ['/people/block', { sponsor_key: 'bob', typed: 'bob', reason: '' }, []],
        ['/people/block', { sponsor_key: 'bob', typed: 'Bob', reason: 'Incident 9' }, ['operator.acted']],
      ] as const;
      for (const [path, fields, events] of forms) {
        let answer = await responder.open('/');
        const lines = await recorded(async () => {
          answer = await responder.submit(path, fields);
        });
        expect(answer.status, path).to.equal(400);
        expect(answer.text, path).to.include('<div class="banner fault" role="alert">').and.not.include('<b>');
        for (const name of ['typed', 'reason'] as const) {
          expect(answer.text, path).to.include(`name="${name}" value="${fields[name].replace(MARKUP, ESCAPED)}"`);
        }
        expect(
          lines.map(({ event }) => event),
          path,
        ).to.deep.equal(events);
      }
      const registrar = await service.signedIn('registrar');
      const { status, text } = await registrar.submit('/agent/disable', { agent_id: 'jira-triage', reason: 'no' });
      expect([status, text.includes('<details class="ask" open>')]).to.deep.equal([400, true]);
      expect(text).to.include('name="reason" value="no"');
      expect((await viewer.open(`/tasks/${task}`)).text).to.include('<strong>Live.</strong>');
    });

    it('names the role that is missing, and those that the operator has', async () => {
      let page = '';
      const lines = await recorded(async () => {
        const { status, text } = await auditor.open('/stop');
        expect(status).to.equal(403);
        page = text;
      });
      expect(textOf(page)).to.include('This needs the role Responder . You have: Auditor.');
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['admin.denied', 'operator_role_missing']]);
    });

    it('says that an unknown name may be mistyped, and offers the nearest names', async () => {
      const task = await start('grace');
      await insertLiveTasks(service.mandate, database, 1200);
      const typo = `${task.slice(0, -2)}${task.endsWith('00') ? '11' : '00'}`;
      const pages = [
        [
          '/people?sponsor=gracf',
          'No task, block or record names this person: check the spelling.',
          '/people?sponsor=grace',
        ],
        [
          '/people?sponsor=malory',
          'No task, block or record names this person: check the spelling.',
          '/people?sponsor=mallory',
        ],
        ['/agents/jira-triagge', 'No registration names this agent: check the spelling.', '/agents/jira-triage'],
        ['/agents?agent_id=jira-triagge', 'No registration names this agent', '/agents/jira-triage'],
        [`/tasks/${typo}`, 'No stored task has this id: check the spelling.', undefined],
      ] as const;
      for (const [path, sentence, to] of pages) {
        const { text } = await auditor.open(path);
        expect(textOf(text), path).to.include(sentence);
        if (to !== undefined) expect(text, path).to.include(`<li><a href="${to}">`);
      }
      const stops = [
        ['/stop?sponsor=gracf', 'No task or block names this person: check the spelling.', '/stop?sponsor=grace'],
        ['/stop?agent_id=jira-triagge', 'No registration names this agent', '/stop?agent_id=jira-triage'],
        [`/stop?task_id=${typo}`, 'No stored task has this id', undefined],
      ] as const;
      for (const [path, sentence, to] of stops) {
        const { text } = await responder.open(path);
        expect(textOf(text), path).to.include(sentence).and.not.include('there is nothing to end');
        if (to !== undefined) expect(text, path).to.include(`<li><a href="${to}">`);
      }
      // Ada had a task, which has ended.
      expect((await auditor.open('/people?sponsor=ada')).text)
        .to.include('Not blocked')
        .and.not.include('check the spelling');
    });

    it('lists every live task on pages, the newest first, and the figure on Now links to them', async () => {
      expect((await viewer.open('/')).text).to.match(/<p class="value"><a href="\/tasks">1,20\d<\/a>/);
      const seen: string[] = [];
      let next: string | undefined = '/tasks';
      while (next !== undefined) {
        const { text }: { readonly text: string } = await viewer.open(next);
        seen.push(...[...text.matchAll(/<tr id="(task_\w+)"/g)].map(([, id = '']) => id));
        next = /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&');
      }
      expect(seen.length).to.be.within(1200, 1210);
      expect(seen).to.deep.equal(seen.toSorted().reverse());
    });

    it('ends all tasks of all people after two typed words and a reason, also if two operators do it at once', async () => {
      expect((await responder.open('/stop')).text).to.include('href="/stop?everything=yes"');
      const { text } = await responder.open('/stop?everything=yes');
      expect(textOf(text)).to.match(/All tasks of all people , with every agent\. 1,20\d tasks end/);
      expect(text).to.include('Type <bdi class="code" translate="no">stop everything</bdi> to confirm');
      let refused = await responder.submit('/stop/everything', { typed: 'everything', reason: 'Incident 9' });
      expect([refused.status, refused.text.includes('name="typed" value="everything"')]).to.deep.equal([400, true]);
      refused = await responder.submit('/stop/everything', { typed: 'stop everything', reason: '' });
      expect([refused.status, refused.text.includes('name="typed" value="stop everything"')]).to.deep.equal([
        400,
        true,
      ]);
      const another = await service.signedIn('responder', 'viewer');
      const lines = await recorded(async () => {
        const both = await Promise.all(
          [responder, another].map((each) =>
            each.submit('/stop/everything', { typed: 'stop everything', reason: 'Incident 9' }),
          ),
        );
        for (const { status, headers } of both) {
          expect([status, headers.get('location')]).to.deep.equal([303, '/']);
        }
      });
      const ends = lines.filter(({ event }) => event === 'task.revoked');
      expect(ends.length).to.be.within(1200, 1210);
      expect(new Set(ends.map(({ task_id }) => task_id)).size).to.equal(ends.length);
      const acts = lines.flatMap(({ event, detail }) =>
        event === 'operator.acted' ? [new URLSearchParams(String(detail)).get('act')] : [],
      );
      expect(acts).to.deep.equal(['DELETE /admin/tasks', 'DELETE /admin/tasks']);
      expect((await viewer.open('/')).text).to.include('<a href="/tasks">0</a>');
      const [last] = ends;
      const page = await auditor.open(`/tasks/${last?.task_id}`);
      expect(textOf(page.text)).to.include('Stop of all tasks of all people by olga-responder');
    });
  });
}

describe('Stop everything, switched off', () => {
  it('is offered to no role, and refused as a missing role is', async () => {
    const service = await startConsole(sqliteFile);
    try {
      const responder = await service.signedIn('responder');
      expect((await responder.open('/stop')).text).not.to.include('everything');
      const unknown = await responder.open('/stop?everything=yes');
      expect([unknown.status, unknown.text.includes('Is not a parameter here.')]).to.deep.equal([400, true]);
      const lines = await service.mandate.recorded(async () => {
        const { status, text } = await responder.submit('/stop/everything', {
          typed: 'stop everything',
          reason: 'Incident 11',
        });
        expect(status).to.equal(403);
        expect(textOf(text)).to.include('Service:Operators:StopEverything is not true. The admin key may.');
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['admin.denied', 'operator_role_missing']]);
      expect(new URLSearchParams(String(lines[0]?.detail)).get('act')).to.equal('DELETE /admin/tasks');
    } finally {
      await service.stop();
    }
  });
});
