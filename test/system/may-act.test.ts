/** `Service:UpstreamIdp:MayAct`: which agent may act for a person, as the provider's token says; and `may_act_names`. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { describeDenial } from '../../domain/denial.ts';
import { databasesByLength } from '../support/databases.ts';
import { answering } from '../support/loopback.ts';
import {
  type Answer,
  aRegistration,
  fieldsOf,
  type Mandate,
  type RegisteredAgent,
  startMandate,
} from '../support/mandate.ts';
import { P256_KEY } from '../support/registrations.ts';
import { startUserDirectory } from '../support/user-directory.ts';

const NOT_NAMED = {
  error: 'access_denied',
  error_description: describeDenial('actor_not_named').sentence,
  reason: 'actor_not_named',
};
const MALFORMED = { error: 'invalid_grant', error_description: describeDenial('subject_malformed').sentence };

for (const database of databasesByLength) {
  describe(`MayAct on ${database.name}`, function () {
    this.timeout(60_000);
    let ignoring: Mandate;
    let honouring: Mandate;
    let requiring: Mandate;
    let agent: RegisteredAgent;
    let other: RegisteredAgent;
    /** The names of `agent`. */
    const [user, client, sole] = [randomUUID(), `client-${randomUUID()}`, `sole-${randomUUID()}`];
    before(async () => {
      ignoring = await startMandate({ database, settings: { 'Service:Audit:Aggregation:Enabled': 'false' } });
      honouring = await ignoring.another({ 'Service:UpstreamIdp:MayAct': 'honour' });
      requiring = await ignoring.another({ 'Service:UpstreamIdp:MayAct': 'require' });
      agent = await honouring.agent({ may_act_names: [{ sub: user, client_id: client }, { client_id: sole }] });
      other = await honouring.agent();
    });
    after(async () => {
      await requiring.stop();
      await honouring.stop();
      await ignoring.stop();
    });

    const exchange = (at: Mandate, by: RegisteredAgent, may_act: unknown, form = {}): Promise<Answer> =>
      at.post('/oauth2/token', by.exchangeForm({ subject_token: by.subjectToken({ may_act }), ...form }));

    it('honours the name of the provider, ours and the issuers, and refuses every other actor', async () => {
      const accepted = [
        { sub: user, client_id: client },
        { sub: 'another', client_id: sole },
        { sub: `agent:${agent.id}`, client_id: 'another', iss: ignoring.issuer },
        { sub: agent.id, iss: ignoring.provider.issuer, act: { sub: 'x' } },
        null,
      ];
      for (const may_act of accepted) {
        for (const at of may_act === null ? [honouring] : [honouring, requiring]) {
          const { status, text } = await exchange(at, agent, may_act);
          expect(status, text).to.equal(200);
        }
      }
      const refused = [
        ...[{ sub: user, client_id: 'another' }, { sub: user }, { client_id: client }, { sub: 'admin@example.com' }],
        ...[{ sub: `agent:${other.id}` }, { sub: agent.id, iss: 'https://other.example' }],
        ...[
          { sub: `agent:${other.id}`, client_id: sole },
          { sub: `AGENT:${agent.id}`, client_id: sole },
        ],
      ];
      for (const may_act of refused) {
        const lines = await ignoring.recorded(async () => {
          const { status, body } = await exchange(honouring, agent, may_act);
          expect([status, body]).to.deep.equal([400, NOT_NAMED]);
        });
        expect(fieldsOf(lines, 'event', 'decision', 'reason', 'agent_id', 'sponsor', 'task_id')).to.deep.equal([
          ['token.denied', 'deny', 'actor_not_named', agent.id, 'ada', null],
        ]);
        expect((await exchange(ignoring, agent, may_act)).status).to.equal(200);
      }
    });

    it('refuses a token without may_act only under require', async () => {
      for (const may_act of [undefined, null]) {
        const lines = await ignoring.recorded(async () => {
          const { status, body } = await exchange(requiring, agent, may_act);
          expect([status, body]).to.deep.equal([400, NOT_NAMED]);
        });
        expect(fieldsOf(lines, 'reason', 'agent_id', 'sponsor')).to.deep.equal([['actor_not_named', agent.id, 'ada']]);
      }
    });

    it('refuses a malformed may_act with the fixed sentence, echoes nothing of it, and records it', async () => {
      const members = Object.fromEntries(Array.from({ length: 1000 }, (_, nth) => [`m${nth}`, 1]));
      const malformed = [
        ...['not-echoed', [{ sub: agent.id }], {}, { may_act: { sub: agent.id } }, { sub: [agent.id] }, members],
        ...[JSON.parse(`{"__proto__":{"sub":"${agent.id}"}}`), { sub: agent.id, client_id: 'x'.repeat(257) }],
      ];
      for (const may_act of malformed) {
        const lines = await ignoring.recorded(async () => {
          const { status, body } = await exchange(honouring, agent, may_act);
          expect([status, body]).to.deep.equal([400, MALFORMED]);
        });
        expect(fieldsOf(lines, 'event', 'decision', 'reason', 'agent_id', 'sponsor')).to.deep.equal([
          ['token.denied', 'deny', 'subject_malformed', agent.id, 'ada'],
        ]);
        expect((await exchange(ignoring, agent, may_act)).status).to.equal(200);
      }
      expect(JSON.stringify([honouring.log.lines, await ignoring.ledger()])).not.to.include('not-echoed');
    });

    it('uses up the assertion, and says nothing about the person to an agent that is not named', async () => {
      const sub = `blocked-${randomUUID()}`;
      await ignoring.block(sub, 'disabled');
      const may_act = { sub: `agent:${agent.id}` };
      const actor_token = other.assertion();
      const form = { actor_token, subject_token: other.subjectToken({ sub, may_act }) };
      expect((await exchange(honouring, other, may_act, form)).body).to.deep.equal(NOT_NAMED);
      const again = await exchange(honouring, other, undefined, { actor_token });
      expect([again.status, again.body.error]).to.deep.equal([401, 'invalid_client']);
      const named = await exchange(honouring, agent, may_act, { subject_token: agent.subjectToken({ sub, may_act }) });
      expect(named.body.reason).to.equal('sponsor_disabled');

      const directory = await startUserDirectory(answering({ enabled: false }));
      const polling = await honouring.another({ 'Service:UpstreamIdp:MayAct': 'honour', ...directory.settings });
      expect((await exchange(polling, other, may_act)).body).to.deep.equal(NOT_NAMED);
      expect(directory.server.received).to.deep.equal([]);
      expect((await exchange(polling, agent, may_act)).body.reason).to.equal('sponsor_disabled');
      await polling.stop();
      await directory.server.close();
    });

    it('checks the claim at the exchange alone: a task goes on when the agent has the name no longer', async () => {
      const name = `name-${randomUUID()}`;
      const renewing = await honouring.agent({ may_act_names: [{ sub: name }] });
      const { status, body } = await exchange(requiring, renewing, { sub: name });
      expect(status).to.equal(200);
      const changed = await honouring.admin('PATCH', `/admin/agents/${renewing.id}`, { may_act_names: null });
      expect([changed.status, changed.body.may_act_names]).to.deep.equal([200, null]);
      const renewed = await requiring.post('/oauth2/token', renewing.refreshForm(String(body.refresh_token)));
      expect(renewed.status).to.equal(200);
      expect((await exchange(requiring, renewing, { sub: name })).body).to.deep.equal(NOT_NAMED);
    });
  });

  describe(`may_act_names on ${database.name}`, function () {
    this.timeout(60_000);
    let ignoring: Mandate;
    let honouring: Mandate;
    let replica: Mandate;
    before(async () => {
      ignoring = await startMandate({ database });
      honouring = await ignoring.another({ 'Service:UpstreamIdp:MayAct': 'honour' });
      replica = await ignoring.another({ 'Service:UpstreamIdp:MayAct': 'require' });
    });
    after(async () => {
      await replica.stop();
      await honouring.stop();
      await ignoring.stop();
    });

    const register = (at: Mandate, changes: Readonly<Record<string, unknown>>) => {
      const agent_id = `agent-${randomUUID()}`;
      return at.admin('POST', '/admin/agents', aRegistration({ agent_id, jwks: { keys: [P256_KEY] }, ...changes }));
    };
    const change = (at: Mandate, id: unknown, body: object) => at.admin('PATCH', `/admin/agents/${String(id)}`, body);
    const show = async (at: Mandate, id: unknown) => (await at.admin('GET', `/admin/agents/${String(id)}`)).body;
    const updates = async (act: () => Promise<unknown>) =>
      fieldsOf(await honouring.recorded(act), 'event', 'decision', 'reason', 'agent_id');

    it('are registered, changed, shown and removed, and each change is recorded', async () => {
      const names = [{ sub: 'ü "x" \\u2028 😀', client_id: randomUUID() }, { client_id: randomUUID() }];
      const { status, body } = await register(honouring, { may_act_names: names });
      expect([status, body.may_act_names]).to.deep.equal([201, names]);
      const id = body.agent_id;
      expect(Object.keys(body).slice(10, 13)).to.deep.equal(['jwks', 'may_act_names', 'enabled']);
      expect(await show(replica, id)).to.deep.equal(body);
      const page = await honouring.admin('GET', `/admin/agents?limit=1000`);
      expect(page.body.agents).to.deep.include(body);
      const turned = names.toReversed();
      const recorded = await updates(async () => {
        expect((await change(honouring, id, { may_act_names: names })).body).to.deep.equal(body);
        expect((await change(honouring, id, { may_act_names: turned })).body.may_act_names).to.deep.equal(turned);
        expect((await change(honouring, id, { display_name: 'New' })).body.may_act_names).to.deep.equal(turned);
        expect((await change(honouring, id, { may_act_names: null })).body.may_act_names).to.equal(null);
      });
      const changed = ['no_change', 'changed:may_act_names', 'changed:display_name', 'changed:may_act_names'];
      expect(recorded).to.deep.equal(changed.map((reason) => ['agent.updated', 'allow', reason, id]));
      expect((await register(honouring, { may_act_names: null })).body.may_act_names).to.equal(null);
    });

    it('are an unknown member while the service ignores may_act; stored ones are kept and not shown', async () => {
      const unknown = { may_act_names: ['Is not a field of a registration.'] };
      const may_act_names = [{ sub: randomUUID() }];
      const { agent_id: id } = (await register(honouring, { may_act_names })).body;
      const recorded = await updates(async () => {
        for (const value of [may_act_names, null, 'x']) {
          const answers = [
            await register(ignoring, { may_act_names: value }),
            await change(ignoring, id, { may_act_names: value }),
          ];
          for (const { status, body } of answers) expect([status, body.errors]).to.deep.equal([400, unknown]);
        }
        expect(await show(ignoring, id)).not.to.have.property('may_act_names');
        expect((await change(ignoring, id, { display_name: 'Kept' })).body).not.to.have.property('may_act_names');
        expect((await change(ignoring, id, { enabled: false })).body).not.to.have.property('may_act_names');
      });
      expect(recorded.map(([, , reason]) => reason)).to.deep.equal(['changed:display_name', 'changed:enabled']);
      expect(await show(honouring, id)).to.deep.include({ may_act_names, display_name: 'Kept', enabled: false });
    });

    it('belong to one agent: a registration or change with the name of another is 409, and recorded', async () => {
      const [sub, client_id] = [randomUUID(), randomUUID()];
      const first = (await register(honouring, { may_act_names: [{ sub, client_id }] })).body;
      const second = (await register(honouring, { may_act_names: [{ sub }, { client_id }] })).body;
      const third = (await register(honouring, {})).body;
      const wanted: readonly object[] = [{ client_id, sub }, { sub }, { sub: first.agent_id, client_id: 'any' }];
      for (const name of wanted) {
        const may_act_names = [{ sub: randomUUID() }, name];
        const agent_id = `agent-${randomUUID()}`;
        const recorded = await updates(async () => {
          for (const { status, body } of [
            await register(honouring, { agent_id, may_act_names }),
            await change(replica, third.agent_id, { may_act_names, display_name: 'not stored' }),
          ]) {
            expect([status, body.title]).to.deep.equal([409, 'Conflict']);
            expect(Object.keys(body.errors ?? {})).to.deep.equal(['may_act_names']);
          }
        });
        expect(recorded).to.deep.equal([
          ['agent.registered', 'deny', 'may_act_name_taken', agent_id],
          ['agent.updated', 'deny', 'may_act_name_taken', third.agent_id],
        ]);
        expect((await honouring.admin('GET', `/admin/agents/${agent_id}`)).status).to.equal(404);
        expect(await show(honouring, third.agent_id)).to.deep.equal(third);
      }
      // The id of a new agent is a name too.
      const reserved = `reserved-${randomUUID()}`;
      const names = [{ sub: reserved }, { sub, client_id: third.agent_id }];
      expect((await change(honouring, third.agent_id, { may_act_names: names })).status).to.equal(200);
      expect((await register(honouring, { agent_id: reserved })).status).to.equal(409);
      // A name that its agent gave up is free.
      expect((await change(honouring, first.agent_id, { may_act_names: null })).status).to.equal(200);
      expect((await change(honouring, second.agent_id, { may_act_names: [{ sub, client_id }] })).status).to.equal(200);
    });
  });
}
