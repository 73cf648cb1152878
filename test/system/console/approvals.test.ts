/** What operators see of approvals: those of a task with their words, and how many wait. */

import { expect } from 'chai';
import {
  accessibilityFaults,
  browse,
  closeBrowser,
  devices,
  looksByLength,
  screenshot,
} from '../../support/browser.ts';
import { type ConsoleService, startConsole } from '../../support/console/console-service.ts';
import { databasesByLength } from '../../support/databases.ts';
import { JIRA, type RegisteredAgent } from '../../support/mandate.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../../support/tool-server/approval-request.ts';

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
      service = await startConsole(database, {
        'Service:Me:ClientId': 'the-page',
        ...approvalSettings(jira),
      });
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
      expect(page.indexOf(second)).to.be.within(0, page.indexOf(first));
      expect(page).to.include('PAY-7').and.include('&lt;/blockquote&gt;&lt;script&gt;\\u{202e}');
      expect(page).not.to.include('<script>\\u').and.not.include('\u202e');
      const { commitment, digest, salt } = await mandate.approval(first);
      expect(page).to.include(commitment).and.include(digest).and.not.include(salt);
      expect(page).to.match(/>granted<\/bdi>, until/);
      await ask({});
      expect(await pageOfTask()).to.match(/>used<\/bdi>/);
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

    it('counts on Now those that wait', async () => {
      const { mandate } = service;
      const viewer = await service.signedIn('viewer');
      const waiting = async () =>
        /<h2 id="waiting">.*?<p class="value">(.*?)<\/p>/s.exec((await viewer.open('/')).text)?.[1];
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
        for (const [path, heading] of [
          [`/tasks/${taskId}`, 'Approvals'],
          ['/', 'Waiting approvals'],
        ] as const) {
          await page.goto(`${service.origin}${path}`);
          await page.getByRole('heading', { name: heading }).waitFor();
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
      for (const path of ['/', `/tasks/${taskId}`]) {
        expect((await viewer.open(path)).text, path).not.to.match(/approval/i);
      }
    });
  });
}
