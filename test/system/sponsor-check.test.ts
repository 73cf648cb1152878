/**
 * The sponsor check in `poll` mode: the identity provider is asked about the person (specification "Sponsor check").
 * The admin API asked is a loopback server that answers as Keycloak's does, since no Keycloak can run here.
 */

import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { converse } from '../support/hostile/raw-conversation.ts';
import { answering, type Handler, type Loopback, startLoopback } from '../support/loopback.ts';
import { ADMIN_KEY, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';

const ACTIVE = { id: 'ada', username: 'ada', enabled: true };

/** Reads one path segment and decodes it once, as Keycloak does. */
const decoding: Handler = (request, response) => {
  const id = decodeURIComponent(request.path.slice('/users/'.length));
  answering({ ...ACTIVE, id })(request, response);
};
/** Decodes the whole path first, twice where an escape is left, and resolves its dot segments. */
const normalizing: Handler = (request, response) => {
  const decoded = decodeURIComponent(request.path);
  const path = /%[0-9a-f]{2}/i.test(decoded) ? decodeURIComponent(decoded) : decoded;
  const id = new URL(`http://provider${path}`).pathname.split('/').at(-1) ?? '';
  answering({ ...ACTIVE, id })(request, response);
};
const PATH_LIKE_KEYS = ['a/b', 'a\\b', 'a%b', 'a/../b', '..%2Fb', '%2e%2e', '../users/b', '/'.repeat(256)];

for (const database of databases) {
  describe(`the sponsor check in poll mode on ${database.name}`, () => {
    let admin: Loopback;
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let person: { status: number; body: unknown };
    let users: Handler;
    const tokenOf = (claims: Readonly<Record<string, unknown>>) =>
      mandate.provider.mintAccessToken({ exp: mandate.clock.seconds() + 900, ...claims });
    /** Happens while the provider is asked about the person, before it answers. */
    let meanwhile: () => Promise<unknown>;
    const questions = () => admin.received.filter((request) => request.path.startsWith('/users/'));

    before(async () => {
      admin = await startLoopback((request, response) => {
        const token = { access_token: 'service-token', token_type: 'Bearer', expires_in: 60 };
        if (request.path === '/token') answering(token)(request, response);
        else void meanwhile().then(() => users(request, response));
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
      users = (request, response) => answering(person.body, person.status)(request, response);
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

    it('asks once more, not twice, when the agent is changed under its first exchange', async () => {
      let isChanged = false;
      const usual = admin.answer;
      admin.answer = async (request, response) => {
        if (request.path.startsWith('/users/') && !isChanged) {
          isChanged = true;
          await mandate.admin('PATCH', `/admin/agents/${agent.id}`, { display_name: 'Changed meanwhile' });
        }
        usual(request, response);
      };
      const answer = await agent.exchange();
      admin.answer = usual;
      expect(answer.status, answer.text).to.equal(200);
      expect(isChanged).to.equal(true);
      expect(questions()).to.have.lengthOf(2);
    });

    it('gives up on an exchange whose agent changes in every round, with a record, and spends nothing', async () => {
      let changes = 0;
      meanwhile = () => mandate.admin('PATCH', `/admin/agents/${agent.id}`, { display_name: `Triage ${++changes}` });
      const form = agent.exchangeForm();
      const lines = await mandate.recorded(async () => {
        const answer = await mandate.post('/oauth2/token', form);
        expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([503, '1']);
        expect(answer.body).to.deep.equal({
          error: 'temporarily_unavailable',
          error_description: 'What the request was judged on changed in every round. Retry the request.',
        });
      });
      expect(changes).to.equal(8);
      const refused = lines.filter(({ event }) => event !== 'agent.updated');
      expect(refused).to.have.lengthOf(1);
      expect(refused[0]).to.include({ event: 'token.denied', decision: 'deny', reason: 'overloaded', agent_id: null });
      meanwhile = async () => undefined;
      expect((await mandate.post('/oauth2/token', form)).status).to.equal(200);
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
          subject_token: tokenOf({ sub: 'blocked-here' }),
        }),
      );
      expect(lines.at(-1)).to.include({ reason: 'sponsor_disabled' });
      expect(questions()).to.have.lengthOf(0);
    });

    it('asks about every sponsor key that an exchange accepts, as one percent-encoded path segment', async () => {
      users = decoding;
      for (const sub of [...PATH_LIKE_KEYS, '...', '\u4e2d'.repeat(256)]) {
        admin.received.length = 0;
        const answer = await agent.exchange({ subject_token: tokenOf({ sub }) });
        expect(answer.status, `${sub}: ${answer.text}`).to.equal(200);
        expect(questions().map(({ path }) => path)).to.deep.equal([`/users/${encodeURIComponent(sub)}`]);
      }
    });

    it('takes no answer about another person from a provider that decodes and normalizes paths', async () => {
      for (const sub of PATH_LIKE_KEYS.filter((key) => key !== 'a%b')) {
        users = decoding;
        const issued = await agent.exchange({ subject_token: tokenOf({ sub }) });
        expect(issued.status, issued.text).to.equal(200);
        mandate.clock.advance(31);
        users = normalizing;
        for (const act of [
          () => agent.exchange({ subject_token: tokenOf({ sub }) }),
          () => agent.refresh(String(issued.body.refresh_token)),
        ]) {
          const lines = await mandate.recorded(async () => {
            const answer = await act();
            expect(answer.status, sub).to.equal(503);
            expect(answer.body.error).to.equal('temporarily_unavailable');
          });
          expect(lines).to.have.lengthOf(1);
          expect(lines[0]).to.include({
            event: 'token.denied',
            reason: 'sponsor_status_unavailable',
            agent_id: agent.id,
            sponsor: sub,
          });
        }
      }
      // None of these answers counted towards the circuit.
      users = decoding;
      expect((await agent.exchange()).status).to.equal(200);
    });

    it('compares an id only where it is a string', async () => {
      for (const id of [undefined, null, 42, ['ada'], { id: 'grace' }]) {
        person = { status: 200, body: { enabled: true, id } };
        expect((await agent.exchange()).status, JSON.stringify(id)).to.equal(200);
        person = { status: 200, body: { enabled: false, id } };
        const lines = await mandate.recorded(() => agent.exchange());
        expect(lines.at(-1)).to.include({ reason: 'sponsor_disabled', sponsor: 'ada' });
      }
    });

    it('asks by sub where the sponsor key is another claim', async () => {
      const other = await mandate.another({ 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' });
      users = decoding;
      const acting = await other.agent();
      const subject_token = mandate.provider.mintAccessToken({ sub: 'a b/c', oid: 'key-1' });
      expect((await acting.exchange({ subject_token })).status).to.equal(200);
      expect(questions().map(({ path }) => path)).to.deep.equal(['/users/a%20b%2Fc']);
      await other.stop();
    });

    it('refuses a dot and two dots as sponsor keys, at an exchange and on the admin API', async () => {
      for (const sub of ['.', '..']) {
        const lines = await mandate.recorded(async () => {
          const answer = await agent.exchange({ subject_token: tokenOf({ sub }) });
          expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_grant']);
        });
        expect(lines).to.have.lengthOf(1);
        expect(lines[0]).to.include({ reason: 'sponsor_key_missing', agent_id: agent.id, sponsor: sub });
        for (const written of [sub, sub.replaceAll('.', '%2e'), sub.replaceAll('.', '%2E')]) {
          for (const [method, path] of [
            ['GET', `/admin/sponsors/${written}`],
            ['PUT', `/admin/sponsors/${written}/block`],
            ['DELETE', `/admin/sponsors/${written}/block`],
            ['DELETE', `/admin/sponsors/${written}/tasks`],
          ] as const) {
            const { answers } = await converse(
              mandate.url,
              `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\n\r\n`,
            );
            expect(answers[0]?.status, `${method} ${path}`).to.equal(400);
            expect(answers[0]?.headers.get('content-type')).to.match(/^application\/problem\+json/);
          }
        }
      }
      expect(questions()).to.have.lengthOf(0);
    });

    it('blocks, shows and unblocks every other sponsor key by its percent-encoded path', async () => {
      users = decoding;
      for (const sub of PATH_LIKE_KEYS) {
        const path = `/admin/sponsors/${encodeURIComponent(sub)}`;
        expect((await mandate.admin('DELETE', `${path}/tasks`)).status).to.equal(200);
        expect((await agent.exchange({ subject_token: tokenOf({ sub }) })).status).to.equal(200);
        const blocked = await mandate.admin('PUT', `${path}/block`);
        expect([blocked.status, blocked.body.revoked_tasks], sub).to.deep.equal([200, 1]);
        expect((await mandate.admin('GET', path)).body).to.include({ sponsor_key: sub, source: 'admin' });
        const refused = await agent.exchange({ subject_token: tokenOf({ sub }) });
        expect(refused.body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
        expect((await mandate.admin('DELETE', `${path}/block`)).status).to.equal(204);
      }
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
