/** How often an agent may ask a person to approve something, and how many places its questions take. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent, startMandate, withService } from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';

const QUESTIONS = 'Service:Approvals:MaxQuestionsPerHour';

for (const database of databasesByLength) {
  describe(`The limits of an agent that asks a person, on ${database.name}`, () => {
    let mandate: Mandate;
    let jira: AskingServer;
    before(async () => {
      const clock = { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() };
      jira = await askingServer(JIRA, clock);
      mandate = await startMandate({
        database,
        settings: {
          'Service:Me:ClientId': 'the-page',
          ...approvalSettings(jira),
          ...sharedSigningKey(),
          [QUESTIONS]: '10',
          'Service:Tasks:Retention': 'PT1S',
          'Service:Audit:Aggregation:Enabled': 'false',
        },
      });
      mandate.clock.standStill();
    });
    after(() => mandate.stop());

    let questions = 0;
    /** Starts a task, and asks about three new actions. Resolves with the answers, after the task was revoked. */
    async function askThree(agent: RegisteredAgent, sub: string, { revokes = true, of = mandate } = {}) {
      const issued = (await agent.exchangeFor({ sub })).body;
      const answers = [];
      for (let nth = 0; nth < 3; nth += 1) {
        questions += 1;
        const digest = digestOf(`question ${questions}`);
        answers.push(await asks(of, issued.access_token, jira.request(issued.task_id, { digest })));
      }
      if (revokes) expect((await agent.revoke(String(issued.refresh_token))).status).to.equal(200);
      return answers;
    }
    const PENDING = Array(3).fill('pending');
    const states = async (...given: Parameters<typeof askThree>) =>
      (await askThree(...given)).map(({ status, body }) => body.state ?? status);

    it('leave two thirds of the places of a person to other agents', async () => {
      const [one, other] = [await mandate.agent(), await mandate.agent()];
      const keep = { revokes: false };
      for (let task = 0; task < 2; task += 1) expect(await states(one, 'ada', keep)).to.deep.equal(PENDING);
      const lines = await mandate.recorded(async () => {
        for (const answer of await askThree(one, 'ada', keep)) {
          expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([429, '5']);
        }
      });
      expect(fieldsOf(lines.slice(1), 'reason', 'agent_id')).to.deep.equal(Array(3).fill(['too_many_pending', null]));
      expect(await states(other, 'ada', keep)).to.deep.equal(PENDING);
      expect(await states(one, 'grace', keep), 'another person').to.deep.equal(PENDING);
    });

    it('refuse the eleventh question of an hour at every replica, however the tasks end, and record it once with names', async () => {
      const [one, other] = [await mandate.agent(), await mandate.agent()];
      const sub = 'edsger';
      await withService(mandate.another({}, undefined, { clock: mandate.clock }), async (replica) => {
        for (let task = 0; task < 3; task += 1) {
          expect(await states(one, sub, { of: task === 1 ? replica : mandate })).to.deep.equal(PENDING);
          // The tasks are deleted, and their approvals with them.
          mandate.clock.advance(60);
          await mandate.jobs.sweep();
        }
        const lines = await mandate.recorded(async () => {
          const [tenth, ...beyond] = await askThree(one, sub);
          expect(tenth?.body.state).to.equal('pending');
          for (const { status, body, headers } of beyond) {
            expect([status, headers.get('retry-after')]).to.deep.equal([429, '3420']);
            expect(body).to.deep.equal({
              error: 'slow_down',
              error_description: 'The agent has asked this person too often. Retry the request later.',
            });
          }
          expect(await states(one, sub, { of: replica })).to.deep.equal([429, 429, 429]);
        });
        const denied = lines.filter(({ decision }) => decision === 'deny');
        expect(fieldsOf(denied, 'event', 'reason', 'agent_id', 'sponsor', 'audience')).to.deep.equal([
          ['token.denied', 'too_many_questions', one.id, sub, JIRA],
          ...Array(4).fill(['token.denied', 'too_many_questions', null, null, null]),
        ]);
        expect(await states(other, sub), 'another agent').to.deep.equal(PENDING);
        expect(await states(one, 'barbara'), 'another person').to.deep.equal(PENDING);
        mandate.clock.advance(3420 - 1);
        expect(await states(one, sub)).to.deep.equal([429, 429, 429]);
        mandate.clock.advance(1);
        expect(await states(one, sub), 'the next hour').to.deep.equal(PENDING);
      });
    });

    it('keep a count no longer than its hour', async () => {
      expect(await states(await mandate.agent(), 'alan')).to.deep.equal(PENDING);
      // The sweeper keeps what clocks may differ by.
      mandate.clock.advance(3600 + 600);
      await mandate.jobs.sweep();
      expect(await mandate.sql('select * from asked_questions')).to.deep.equal([]);
    });
  });
}
