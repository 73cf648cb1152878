/** What operators see of approvals: those of a task with their words, those of all people as a list, and how many wait. */

import { expect } from 'chai';
import { sha256 } from '../../../adapters/platform/system-crypto.ts';
import {
  accessibilityFaults,
  browse,
  closeBrowser,
  devices,
  looksByLength,
  screenshot,
  willBeScanned,
} from '../../support/browser.ts';
import { type ConsoleService, startConsole } from '../../support/console/console-service.ts';
import { databasesByLength } from '../../support/databases.ts';
import { JIRA, type RegisteredAgent } from '../../support/mandate.ts';
import { movedClock } from '../../support/moved-clock.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../../support/tool-server/approval-request.ts';

const ME = 'https://mandate.test/me';

for (const database of databasesByLength) {
  describe(`The console's approvals on ${database.name}`, function () {
    this.timeout(60_000);
    let service: ConsoleService;
    let off: ConsoleService;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    before(async () => {
      const clock = { issuer: () => service.mandate.issuer, now: () => service.mandate.clock.seconds() };
      jira = await askingServer(JIRA, clock);
      const settings = { 'Service:Me:Audience': ME, 'Service:Me:ClientId': 'the-page', ...approvalSettings(jira) };
      const databaseClock = movedClock();
      service = await startConsole(database, settings, { clock: databaseClock.ofAnotherMachine(), databaseClock });
      off = await startConsole(database);
      agent = await service.mandate.agent();
    });
    after(async () => {
      await closeBrowser();
      await service.stop();
      await off.stop();
    });

    it("lists a task's approvals with their words as text and hidden characters as signs, newest first", async () => {
      const { mandate } = service;
      const viewer = await service.signedIn('viewer');
      const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
      const pageOfTask = async () => (await viewer.open(`/tasks/${taskId}`)).text;
      expect(await pageOfTask()).to.include('No tool server has asked for a yes.');
      const ask = async (claims: object) =>
        String((await asks(mandate, token, jira.request(taskId, claims))).body.approval_id);
      const first = await ask({});
      const hostile = '</blockquote><script>\u202e';
      const second = await ask({ digest: digestOf('2'), title: hostile, lines: [{ label: hostile, value: hostile }] });
      await mandate.answer(first, 'approve');
      const page = await pageOfTask();
      const list = page.slice(page.indexOf('<h2 id="approvals">'));
      expect(list.indexOf(second)).to.be.within(0, list.indexOf(first));
      expect(page).to.include('PAY-7').and.include('&lt;/blockquote&gt;&lt;script&gt;\\u{202e}');
      expect(page).not.to.include('<script>\\u').and.not.include('\u202e');
      const { commitment, digest, salt } = await mandate.approval(first);
      expect(page).to.include(commitment).and.include(digest).and.not.include(salt);
      expect(page).to.match(/>granted<\/bdi>, until/);
      await ask({});
      expect(await pageOfTask()).to.match(/>used<\/bdi>/);
      const events = [
        ...(await pageOfTask()).matchAll(/<li class="approval">.*?<strong>(.*?)<\/strong>: <a href="#(.*?)">/g),
      ];
      expect(events.map(([, words, id]) => [words, id])).to.deep.equal([
        ['Asked the person', first],
        ['Asked the person', second],
        ['The person said yes', first],
        ['The yes was used', first],
      ]);
    });

    it('marks an approval whose row was changed, and shows nothing of it', async () => {
      const { mandate } = service;
      const viewer = await service.signedIn('viewer');
      const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
      const id = String((await asks(mandate, token, jira.request(taskId))).body.approval_id);
      await mandate.sql(`update approvals set title = 'Pay 17 EUR' where approval_id = '${id}'`);
      const page = (await viewer.open(`/tasks/${taskId}`)).text;
      expect(page).to.include('Not shown.').and.include(id).and.not.include('Pay 17 EUR').and.not.include('PAY-7');
    });

    it('lists those of all people by person, agent and state, newest first, each linked to its task, its words as text', async () => {
      const { mandate } = service;
      const viewer = await service.signedIn('viewer');
      await mandate.admin('DELETE', `/admin/agents/${agent.id}/tasks`);
      const other = await mandate.agent();
      const asked: string[] = [];
      const hostile = '</bdi><script>\u202e';
      for (const [of, sub] of [
        [agent, 'grace'],
        [other, 'grace'],
        [agent, 'heidi'],
      ] as const) {
        const { access_token: token, task_id: taskId } = (await of.exchangeFor({ sub })).body;
        asked.unshift(String((await asks(mandate, token, jira.request(taskId, { title: hostile }))).body.approval_id));
      }
      const [heidis = '', others = '', first = ''] = asked;
      await mandate.answer(first, 'approve');
      const shown = async (query: string) => {
        const { status, text } = await viewer.open(`/approvals${query}`);
        expect(status, query).to.equal(200);
        expect(text).not.to.include('<script>\\u').and.not.include('\u202e');
        return [...text.matchAll(/<a href="\/tasks\/task_\w+#(approval_\w+)">(.*?)<\/a>/g)].map(([, id, words]) => [
          id,
          words,
        ]);
      };
      const words = '<bdi translate="no">&lt;/bdi&gt;&lt;script&gt;\\u{202e}</bdi>';
      const ids = async (query: string) => (await shown(query)).map(([id]) => id);
      expect((await shown('')).slice(0, 3)).to.deep.equal([heidis, others, first].map((id) => [id, words]));
      expect(await ids('?sponsor=grace')).to.deep.equal([others, first]);
      expect(await ids(`?sponsor=grace&agent_id=${agent.id}`)).to.deep.equal([first]);
      expect(await ids('?state=pending')).to.deep.equal([heidis, others]);
      expect(await ids('?sponsor=grace&state=granted')).to.deep.equal([first]);
      expect(await ids('?sponsor=nobody')).to.deep.equal([]);
      mandate.clock.advance(601);
      expect(await ids('?state=pending')).to.deep.equal([]);
      expect(await ids(`?agent_id=${other.id}&state=expired`)).to.deep.equal([others]);
      mandate.clock.advance(-601);
      for (const [query, field] of [
        ['?state=open', 'state'],
        ['?agent_id=%20', 'agent_id'],
        ['?person=ada', 'person'],
        ['?cursor=x', 'cursor'],
      ] as const) {
        const refused = await viewer.open(`/approvals${query}`);
        expect([refused.status, refused.text.includes(`<code>${field}</code>`)], query).to.deep.equal([400, true]);
      }
      // A figure leads to what it counts, a person's and an agent's page to theirs.
      for (const [path, to] of [
        ['/', '/approvals?state=pending'],
        ['/people?sponsor=grace', '/approvals?sponsor=grace'],
        [`/agents/${other.id}`, `/approvals?agent_id=${other.id}`],
      ] as const) {
        expect((await viewer.open(path)).text, path).to.include(`href="${to}"`);
      }
      await mandate.sql(`update approvals set title = 'Pay 17 EUR' where approval_id = '${others}'`);
      const { text } = await viewer.open('/approvals?sponsor=grace&state=pending');
      expect(text).to.include('Not shown.').and.include(others).and.not.include('Pay 17 EUR');
      await mandate.admin('DELETE', `/admin/agents/${other.id}/tasks`);
    });

    it("shows the person's line of a no at the task and in the list, as text, and nothing of one that was changed", async () => {
      const { mandate } = service;
      const viewer = await service.signedIn('viewer');
      const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub: 'judy' })).body;
      const id = String((await asks(mandate, token, jira.request(taskId))).body.approval_id);
      const shown = async () => {
        const pages = [await viewer.open(`/tasks/${taskId}`), await viewer.open('/approvals?sponsor=judy')];
        return pages.map(({ text }) => text);
      };
      for (const page of await shown()) expect(page).not.to.include('Why not').and.not.include('The person said:');
      const [salt, line] = ['s'.repeat(43), 'Not to PAY-8</bdi><script>\u202e'];
      await mandate.answer(id, 'refuse', { says: { salt, text: line, hash: sha256(`${salt}${line}`) } });
      const words = '<bdi translate="no">Not to PAY-8&lt;/bdi&gt;&lt;script&gt;\\u{202e}</bdi>';
      const [ofTask, list] = await shown();
      const quoted = `<blockquote class="stated"><p>${words}</p></blockquote>`;
      expect(ofTask).to.include(`<dt>Why not</dt><dd>${quoted}The person's words.</dd>`);
      expect(list).to.include(`The person said: ${words}`);
      for (const page of [ofTask, list]) expect(page).not.to.include(salt).and.not.include('\u202e');
      await mandate.sql(`update approvals set says = 'Pay 17 EUR' where approval_id = '${id}'`);
      for (const page of await shown()) expect(page).to.include('Not shown.').and.not.include('Pay 17 EUR');
    });

    it('counts on Now those that wait', async () => {
      const { mandate } = service;
      const viewer = await service.signedIn('viewer');
      const waiting = async () =>
        /<h2 id="waiting">.*?<p class="value"><a [^>]*>(.*?)<\/a><\/p>/s.exec((await viewer.open('/')).text)?.[1];
      await mandate.admin('DELETE', `/admin/agents/${agent.id}/tasks`);
      expect(await waiting()).to.equal('0');
      for (const sub of ['ada', 'bob']) {
        const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub })).body;
        await asks(mandate, token, jira.request(taskId));
      }
      expect(await waiting()).to.equal('2');
      mandate.clock.advance(601);
      expect(await waiting()).to.equal('0');
      mandate.clock.advance(-601);
    });

    it('takes none for open whose time is up at /me, though the clock of the process is slow', async () => {
      const { mandate } = service;
      const viewer = await service.signedIn('viewer');
      await mandate.admin('DELETE', `/admin/agents/${agent.id}/tasks`);
      const { access_token: token, task_id: taskId } = (await agent.exchangeFor({ sub: 'ada' })).body;
      await asks(mandate, token, jira.request(taskId));
      mandate.clock.advance(601);
      mandate.clock.jump(-60);
      const authorization = `Bearer ${agent.subjectToken({ sub: 'ada', aud: ME })}`;
      const atMe = (await mandate.get('/me/approvals', { authorization })).body.approvals;
      const ofTask = /pending<\/bdi>, but its time is up|pending<\/bdi>, until/.exec(
        (await viewer.open(`/tasks/${taskId}`)).text,
      )?.[0];
      const onNow = /<h2 id="waiting">.*?<p class="value"><a [^>]*>(.*?)<\/a><\/p>/s.exec(
        (await viewer.open('/')).text,
      )?.[1];
      mandate.clock.jump(60);
      mandate.clock.advance(-601);
      expect([atMe, ofTask, onNow]).to.deep.equal([[], 'pending</bdi>, but its time is up', '0']);
    });

    const phone = { ...devices.phone, viewport: { width: 360, height: 740 } };
    for (const [colorScheme, device, options] of looksByLength([
      ['dark', 'phone', phone],
      ['light', 'desktop', devices.desktop],
    ] as const)) {
      it(`has no fault that axe finds, and fits the width, ${colorScheme} on a ${device}`, async () => {
        const { mandate } = service;
        const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
        const wide = { label: 'W'.repeat(40), value: 'W'.repeat(200) };
        await asks(mandate, token, jira.request(taskId, { title: 'W'.repeat(120), lines: Array(10).fill(wide) }));
        const used = await asks(mandate, token, jira.request(taskId, { digest: digestOf('2') }));
        await mandate.answer(String(used.body.approval_id), 'approve');
        await asks(mandate, token, jira.request(taskId, { digest: digestOf('2') }));
        const context = await browse({ ...options, isMobile: false, colorScheme });
        const [name, value] = (await service.signedIn('viewer')).cookie;
        // Chromium sends a secure cookie to a loopback address over plain http, too.
        const url = service.origin.replace('http:', 'https:');
        await context.addCookies([{ name, value, url, secure: true, httpOnly: true, sameSite: 'Lax' }]);
        const page = await context.newPage();
        await willBeScanned(page);
        for (const [path, heading] of [
          [`/tasks/${taskId}`, 'Approvals'],
          ['/', 'Waiting approvals'],
          ['/approvals', 'Approvals'],
        ] as const) {
          await page.goto(`${service.origin}${path}`);
          await page.getByRole('heading', { name: heading }).first().waitFor();
          expect(await accessibilityFaults(page), path).to.deep.equal([]);
          expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), path).to.be.at.most(0);
          await screenshot(page, `console-approvals-${heading}-${device}-${colorScheme}-${database.engine}`);
        }
        await context.close();
      });
    }

    it('shows nothing of approvals where tool servers may ask for none', async () => {
      const viewer = await off.signedIn('viewer');
      const { task_id: taskId } = (await (await off.mandate.agent()).exchange()).body;
      for (const path of ['/', `/tasks/${taskId}`, '/people?sponsor=ada', '/agents']) {
        expect((await viewer.open(path)).text, path).not.to.match(/approval/i);
      }
      const { status, text } = await viewer.open('/approvals');
      expect(status).to.equal(404);
      expect(text).to.include('Service:Approvals:Enabled');
    });
  });
}
