/** Notices that approvals wait (`Service:Approvals:Notify`): at least once, and without words. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { JIRA, type Mandate, startMandate } from '../support/mandate.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';

for (const database of databasesByLength) {
  describe(`Notices of approvals on ${database.name}`, () => {
    let mandate: Mandate;
    let other: Mandate;
    let jira: AskingServer;
    let server: Loopback;
    let status: number;
    before(async () => {
      const clock = { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() };
      jira = await askingServer(JIRA, clock);
      server = await startLoopback((request, response) => answering({}, status)(request, response), { tls: true });
      mandate = await startMandate({
        database,
        settings: {
          ...approvalSettings(jira),
          'Service:Me:ClientId': 'the-page',
          'Service:Approvals:Notify:Url': `${server.url}/hook?a=b`,
          'Service:Approvals:Notify:BearerToken': 'knock==',
        },
      });
      // A person gets one notice a minute: a test looks two seconds before the minute is over.
      mandate.clock.standStill();
      other = await mandate.another({}, undefined, { clock: mandate.clock, databaseClock: mandate.clock });
    });
    beforeEach(async () => {
      status = 204;
      // The minute of an earlier notice is over.
      mandate.clock.advance(61);
      await passes();
      server.received.length = 0;
    });
    after(async () => {
      await other.stop();
      await mandate.stop();
      await server.close();
    });

    async function started() {
      const agent = await mandate.agent();
      const { access_token: token, task_id: taskId } = (await agent.exchange()).body;
      return async (what: string) => {
        const { body } = await asks(mandate, token, jira.request(taskId, { digest: digestOf(what) }));
        return String(body.approval_id);
      };
    }
    const sent = () => server.received.map(({ body }) => JSON.parse(String(body)));
    const passes = () => Promise.all([mandate.jobs.notify(), other.jobs.notify()]);
    /** A pass that runs by its interval may have claimed a notice, and send it later. */
    async function passesUntil(count: number): Promise<void> {
      await passes();
      await eventually(() => server.received.length >= count);
    }

    it('have the id of the approval and the person’s key, and are sent once although two replicas send', async () => {
      const ask = await started();
      const id = await ask('a');
      await ask('a');
      await passesUntil(1);
      await passes();
      expect(sent()).to.deep.equal([{ approval_id: id, sponsor_key: 'ada' }]);
      const [{ path, headers, method } = { path: '', headers: {}, method: '' }] = server.received;
      expect([method, path]).to.deep.equal(['POST', '/hook?a=b']);
      expect(headers).to.include({ authorization: 'Bearer knock==', 'content-type': 'application/json' });
    });

    it('are one a minute for each person: at its end one notice follows for the questions that came meanwhile and still wait', async () => {
      const [one, two] = [await started(), await started()];
      const first = await one('f1');
      await two('f2');
      await passesUntil(1);
      expect(sent(), 'one for both').to.deep.equal([{ approval_id: first, sponsor_key: 'ada' }]);
      const answered = await one('f3');
      const waiting = await two('f4');
      await one('f5');
      await passes();
      mandate.clock.advance(58);
      await passes();
      expect(sent().length).to.equal(1);
      expect(await mandate.answer(answered, 'refuse')).to.equal('refused');
      mandate.clock.advance(2);
      await passes();
      await passesUntil(2);
      expect(sent().slice(1)).to.deep.equal([{ approval_id: waiting, sponsor_key: 'ada' }]);
      mandate.clock.advance(61);
      await passes();
      expect(sent().length, 'nothing new').to.equal(2);
      await two('f6');
      await passesUntil(3);
      expect(sent().length, 'at once after a quiet minute').to.equal(3);
    });

    it('are sent again after a redirect, which is a failure, and dropped once the person has answered', async () => {
      const ask = await started();
      status = 302;
      const id = await ask('b');
      await passesUntil(1);
      expect(await mandate.answer(id, 'refuse'), 'nothing is locked meanwhile').to.equal('refused');
      const waiting = await ask('c');
      status = 200;
      server.received.length = 0;
      mandate.clock.advance(120);
      await passesUntil(1);
      expect(sent(), 'what does not wait any more is dropped').to.deep.equal([
        { approval_id: waiting, sponsor_key: 'ada' },
      ]);
    });

    it('name no person, title or token in the log', () => {
      const text = JSON.stringify([mandate.log.lines, other.log.lines]);
      expect(text).to.include('the receiver of approval notices does not accept them');
      for (const secret of ['knock', 'Delete the issue', 'PAY-7']) expect(text).not.to.include(secret);
    });
  });
}
