/** The end of a task and how long it is stored (supplement "Sizes and forms nobody wrote down"). */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databasesByLength } from '../support/databases.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

const MICROS = 1_000_000;

for (const database of databasesByLength) {
  describe(`A task on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({ database, settings: { 'Service:Tasks:Retention': 'PT2M' } });
      mandate.clock.standStill();
    });
    beforeEach(async () => {
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    const removeAgent = async () => (await mandate.admin('DELETE', `/admin/agents/${agent.id}`)).status;
    const refusal = async (grant: unknown) => {
      const lines = await mandate.recorded(() => agent.refresh(String(grant)));
      expect(lines).to.have.lengthOf(1);
      expect(lines[0]).to.include({ event: 'token.denied', agent_id: agent.id });
      return lines[0]?.reason;
    };
    const isActive = async (token: unknown) => (await mandate.introspect(String(token))).active;

    it('ends at a whole second, rounded down, as the answer, the token and the refusals say', async () => {
      // Moves the clock to 0.9 s after a whole second.
      const into = (mandate.clock.now() % MICROS) / MICROS;
      mandate.clock.advance(1.9 - into);
      const begun = mandate.clock.seconds();
      const issued = await agent.exchange();
      const end = begun + 20 * 60;
      expect(issued.body.task_expires_at).to.equal(new Date(end * 1000).toISOString().replace('.000Z', 'Z'));
      const { task, exp } = decodeJwt<{ task: { exp: number } }>(String(issued.body.access_token));
      expect([task.exp, exp]).to.deep.equal([end, begun + 4 * 60]);
      // The task began 0.9 s after a whole second. The clock is now 0.05 s before its last five seconds, and then 0.05
      // s after their start.
      mandate.clock.advance(20 * 60 - 0.95);
      expect(await refusal(issued.body.refresh_token)).to.equal('task_ending');
      mandate.clock.advance(0.1);
      expect(await refusal(issued.body.refresh_token)).to.equal('task_expired');
    });

    for (const [what, reason, end] of [
      [
        'was revoked long before its expiry',
        'task_revoked',
        async (taskId: unknown) => {
          expect((await mandate.admin('DELETE', `/admin/tasks/${taskId}`)).body).to.deep.equal({ revoked_tasks: 1 });
        },
      ],
      ['expired', 'task_expired', async () => mandate.clock.advance(20 * 60)],
    ] as const) {
      it(`that ${what} is stored for the retention period, then deleted, and its agent can then be removed`, async () => {
        const issued = await agent.exchange();
        const { task_id, refresh_token, access_token } = issued.body;
        expect(await isActive(access_token)).to.equal(true);
        await end(task_id);
        await mandate.jobs.sweep();
        mandate.clock.advance(119);
        await mandate.jobs.sweep();
        expect(await refusal(refresh_token)).to.equal(reason);
        expect(await removeAgent()).to.equal(409);

        mandate.clock.advance(2);
        await mandate.jobs.sweep();
        expect(await isActive(access_token)).to.equal(false);
        expect(await refusal(refresh_token)).to.equal('grant_not_found');
        expect((await mandate.admin('DELETE', `/admin/tasks/${task_id}`)).status).to.equal(404);
        expect(await removeAgent()).to.equal(204);
      });
    }
  });
}
