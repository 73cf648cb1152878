/**
 * The sponsor check in `poll` mode: the identity provider is asked about the person (specification "Sponsor check").
 * The admin API asked is a loopback server that answers as Keycloak's does, since no Keycloak can run here.
 */

import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

const ACTIVE = { id: 'ada', username: 'ada', enabled: true };

for (const database of databases) {
  describe(`the sponsor check in poll mode on ${database.name}`, () => {
    let admin: Loopback;
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let person: { status: number; body: unknown };
    /** Happens while the provider is asked about the person, before it answers. */
    let meanwhile: () => Promise<unknown>;
    const questions = () => admin.received.filter((request) => request.path.startsWith('/users/'));

    before(async () => {
      admin = await startLoopback((request, response) => {
        const token = { access_token: 'service-token', token_type: 'Bearer', expires_in: 60 };
        if (request.path === '/token') answering(token)(request, response);
        else void meanwhile().then(() => answering(person.body, person.status)(request, response));
      });
      mandate = await startMandate({
        database,
        settings: {
          'Service:UpstreamIdp:SponsorCheck:Mode': 'poll',
          'Service:UpstreamIdp:SponsorCheck:UsersUrl': `${admin.url}/users`,
          'Service:UpstreamIdp:SponsorCheck:TokenUrl': `${admin.url}/token`,
          'Service:UpstreamIdp:SponsorCheck:ClientId': 'mandate',
        },
      });
    });
    beforeEach(async () => {
      person = { status: 200, body: ACTIVE };
      meanwhile = async () => undefined;
      agent = await mandate.agent();
      admin.received.length = 0;
    });
    after(async () => {
      await mandate.stop();
      await admin.close();
    });

    const refusals = [
      {
        when: 'disabled',
        status: 200,
        body: { ...ACTIVE, enabled: false },
        reason: 'sponsor_disabled',
        error: 'access_denied',
      },
      { when: 'deleted', status: 404, body: {}, reason: 'sponsor_not_found', error: 'access_denied' },
      {
        when: 'not ours to see',
        status: 403,
        body: {},
        reason: 'sponsor_status_unavailable',
        error: 'temporarily_unavailable',
      },
      {
        when: 'shown without enabled',
        status: 200,
        body: {},
        reason: 'sponsor_status_unavailable',
        error: 'temporarily_unavailable',
      },
      {
        when: 'shown as no JSON',
        status: 200,
        body: '<html>',
        reason: 'sponsor_status_unavailable',
        error: 'temporarily_unavailable',
      },
    ];
    for (const { when, status, body, reason, error } of refusals) {
      it(`refuses at an exchange and a refresh when the person is ${when}`, async () => {
        const issued = await agent.exchange();
        expect(issued.status, issued.text).to.equal(200);
        mandate.clock.advance(31);
        person = { status, body };
        for (const act of [() => agent.exchange(), () => agent.refresh(String(issued.body.refresh_token))]) {
          const lines = await mandate.recorded(async () => {
            const answer = await act();
            expect(answer.status).to.equal(error === 'access_denied' ? 400 : 503);
            expect(answer.body.error).to.equal(error);
          });
          expect(lines).to.have.lengthOf(1);
          expect(lines[0]).to.include({ event: 'token.denied', reason, agent_id: agent.id, sponsor: 'ada' });
        }
      });
    }

    it('asks as of now at every exchange, and by sub', async () => {
      await agent.exchange();
      await agent.exchange();
      expect(questions().map((request) => request.path)).to.deep.equal(['/users/ada', '/users/ada']);
    });

    it('reuses an answer for refreshes within the time it may be kept, and no longer', async () => {
      const grant = String((await agent.exchange()).body.refresh_token);
      admin.received.length = 0;
      mandate.clock.advance(40);
      await agent.refresh(grant);
      await agent.refresh(grant);
      expect(questions()).to.have.lengthOf(1);
      mandate.clock.advance(31);
      await agent.refresh(grant);
      expect(questions()).to.have.lengthOf(2);
    });

    it('does not reuse for a task an answer from before that task existed', async () => {
      mandate.clock.standStill();
      const earlier = String((await agent.exchange()).body.refresh_token);
      mandate.clock.advance(1);
      // This answer is kept, and good for thirty seconds for the task it was asked for.
      expect((await agent.refresh(earlier)).status).to.equal(200);
      mandate.clock.advance(10);
      const issued = await agent.exchange();
      person = { status: 200, body: { ...ACTIVE, enabled: false } };
      mandate.clock.advance(5);
      const lines = await mandate.recorded(async () => {
        const answer = await agent.refresh(String(issued.body.refresh_token));
        expect([answer.status, answer.body.reason]).to.deep.equal([400, 'sponsor_disabled']);
      });
      expect(lines.map((line) => [line.event, line.decision, line.reason, line.task_id])).to.deep.equal([
        ['token.denied', 'deny', 'sponsor_disabled', issued.body.task_id],
      ]);
    });

    it('reuses no answer that is older than the token to be issued will live', async () => {
      mandate.clock.standStill();
      const issued = await agent.exchange();
      const grant = String(issued.body.refresh_token);
      mandate.clock.advance(20 * 60 - 45);
      expect((await agent.refresh(grant)).status).to.equal(200);
      person = { status: 200, body: { ...ACTIVE, enabled: false } };
      // The answer is 25 seconds old. It would be good for 30, but the task and its last token have 20 left.
      mandate.clock.advance(25);
      const lines = await mandate.recorded(async () => {
        const answer = await agent.refresh(grant);
        expect([answer.status, answer.body.reason]).to.deep.equal([400, 'sponsor_disabled']);
      });
      expect(lines.map((line) => [line.event, line.reason, line.task_id])).to.deep.equal([
        ['token.denied', 'sponsor_disabled', issued.body.task_id],
      ]);
    });

    describe('does not renew a task that came to its end while the provider was asked:', () => {
      const TASK_SECONDS = 20 * 60;
      const ends = [
        {
          reason: 'task_revoked',
          how: 'it was revoked',
          end: (task: string) => mandate.admin('DELETE', `/admin/tasks/${task}`),
        },
        { reason: 'task_expired', how: 'it expired', end: async () => mandate.clock.advance(TASK_SECONDS) },
        {
          reason: 'task_ending',
          how: 'it has less than five seconds left',
          end: async () => mandate.clock.advance(TASK_SECONDS - 4),
        },
      ];
      for (const { reason, how, end } of ends) {
        it(how, async () => {
          mandate.clock.standStill();
          const issued = await agent.exchange();
          const form = agent.refreshForm(String(issued.body.refresh_token));
          admin.received.length = 0;
          meanwhile = () => end(String(issued.body.task_id));
          const lines = await mandate.recorded(async () => {
            const answer = await mandate.post('/oauth2/token', form);
            expect([answer.status, answer.body.error, answer.body.reason]).to.deep.equal([
              400,
              'access_denied',
              reason,
            ]);
          });
          expect(questions(), 'the provider was asked').not.to.have.lengthOf(0);
          const about = { agent_id: agent.id, sponsor: 'ada', task_id: issued.body.task_id };
          expect(lines.filter(({ event }) => event === 'token.refreshed')).to.deep.equal([]);
          expect(lines.at(-1)).to.include({ event: 'token.denied', decision: 'deny', reason, ...about });
        });
      }
    });

    it('refuses whom the local list holds without asking', async () => {
      await mandate.block('blocked-here', 'disabled');
      const lines = await mandate.recorded(() =>
        agent.exchange({
          subject_token: mandate.provider.mintAccessToken({ sub: 'blocked-here', exp: mandate.clock.seconds() + 900 }),
        }),
      );
      expect(lines.at(-1)).to.include({ reason: 'sponsor_disabled' });
      expect(questions()).to.have.lengthOf(0);
    });

    it('asks nobody for five seconds after five failures, then lets one question through', async () => {
      person = { status: 500, body: {} };
      for (let time = 0; time < 5; time += 1) expect((await agent.exchange()).status).to.equal(503);
      expect(questions()).to.have.lengthOf(5);
      person = { status: 200, body: ACTIVE };
      expect((await agent.exchange()).body.error).to.equal('temporarily_unavailable');
      expect(questions()).to.have.lengthOf(5);
      mandate.clock.advance(5);
      expect((await agent.exchange()).status).to.equal(200);
    });
  });
}
