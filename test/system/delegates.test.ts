/** The agents that an agent may hand work to: `delegates_to` of its registration. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, aRegistration, fieldsOf, type Mandate, sharedMandate } from '../support/mandate.ts';
import { P256_KEY } from '../support/registrations.ts';

const UNREGISTERED = 'must be the agent_id of a registered agent.';

for (const database of databasesByLength) {
  describe(`Agents in delegates_to on ${database.name}`, function () {
    this.timeout(60_000);
    let shut: Mandate;
    let open: Mandate;
    before(async () => {
      shut = await sharedMandate(database);
      open = await shut.another({ 'Service:Delegation:Enabled': 'true' });
    });
    after(() => open.stop());

    const newId = (name = 'agent') => `${name}-${randomUUID()}`;
    const register = (agent_id: string, delegates_to?: unknown, at = open): Promise<Answer> =>
      at.admin('POST', '/admin/agents', aRegistration({ agent_id, jwks: { keys: [P256_KEY] }, delegates_to }));
    const registered = async (delegates_to?: unknown): Promise<string> => {
      const agent_id = newId();
      const { status, text } = await register(agent_id, delegates_to);
      expect(status, text).to.equal(201);
      return agent_id;
    };
    const change = (id: string, changes: object, at = open) => at.admin('PATCH', `/admin/agents/${id}`, changes);
    const show = async (id: string, at = open) => (await at.admin('GET', `/admin/agents/${id}`)).body;
    const remove = (id: string, at = open) => at.admin('DELETE', `/admin/agents/${id}`);
    const recorded = async (act: () => Promise<unknown>) =>
      fieldsOf(await shut.recorded(act), 'event', 'decision', 'reason', 'agent_id');

    it('are kept in their order and shown, the agent itself too; without any, the answer has no such member', async () => {
      const [other, id] = [await registered(), newId()];
      const { status, body } = await register(id, [other, id]);
      expect([status, body.delegates_to]).to.deep.equal([201, [other, id]]);
      expect(await show(id)).to.deep.equal(body);
      const listed = (await open.admin('GET', '/admin/agents')).body.agents as { agent_id: string }[];
      expect(listed.find(({ agent_id }) => agent_id === id)).to.deep.equal(body);
      for (const none of [undefined, null, []])
        expect(await show(await registered(none))).to.not.have.property('delegates_to');
      expect(await show(other)).to.not.have.property('delegates_to');
    });

    it('change with each PATCH that names them; null and an empty list take them away', async () => {
      const [one, two] = [await registered(), await registered()];
      const id = await registered([one]);
      const reasons = await recorded(async () => {
        expect((await change(id, { delegates_to: [two, one] })).body.delegates_to).to.deep.equal([two, one]);
        expect((await change(id, { display_name: 'Kept' })).body.delegates_to).to.deep.equal([two, one]);
        expect((await change(id, { delegates_to: [two, one] })).body.delegates_to).to.deep.equal([two, one]);
        expect((await change(id, { delegates_to: [] })).body).to.not.have.property('delegates_to');
        expect((await change(id, { delegates_to: null })).status).to.equal(200);
        expect((await change(id, { delegates_to: [one] })).body.delegates_to).to.deep.equal([one]);
        expect((await change(id, { delegates_to: null })).body).to.not.have.property('delegates_to');
      });
      const named = 'changed:delegates_to';
      expect(reasons.map(([, , reason]) => reason)).to.deep.equal([
        ...[named, 'changed:display_name', 'no_change', named, 'no_change', named, named],
      ]);
      expect(await show(id)).to.not.have.property('delegates_to');
    });

    it('must be registered: an unregistered one is an error of its item, which nothing repeats and nothing records', async () => {
      const [other, id] = [await registered(), newId('new')];
      const absent = newId('secret');
      const changing = await registered([other]);
      const records = await recorded(async () => {
        for (const { status, body, text } of [
          await register(id, [other, id, absent]),
          await change(changing, { delegates_to: [changing, other, absent] }),
        ]) {
          expect([status, body.errors]).to.deep.equal([400, { delegates_to: [`Item 3 ${UNREGISTERED}`] }]);
          expect(text).not.to.include(absent);
        }
        // An id that is taken is said only once the registration itself is right.
        expect((await register(changing, [absent])).status).to.equal(400);
        const many = Array.from({ length: 12 }, () => newId('secret'));
        const errors = async (value: unknown) => {
          const { body } = await register(id, value);
          return Object.values(body.errors as Record<string, string[]>).flat();
        };
        expect(await errors(many)).to.have.lengthOf(10);
        expect(await errors([other, other])).to.deep.equal(['Must not name anything twice.']);
        expect(await errors(['A'])).to.deep.equal(['Item 1 must be an agent_id.']);
        expect(await errors([`agent:${other}`])).to.deep.equal(['Item 1 must be an agent_id.']);
        expect(await errors(Array.from({ length: 101 }, (_, n) => `a${n}`))).to.deep.equal([
          'Must have at most 100 items.',
        ]);
        for (const value of ['a', [1], {}]) expect(await errors(value)).to.deep.equal(['Must be an array of strings.']);
      });
      expect(records).to.deep.equal([]);
      expect((await open.admin('GET', `/admin/agents/${id}`)).status).to.equal(404);
      expect((await show(changing)).delegates_to).to.deep.equal([other]);
    });

    it('cannot be deleted while another agent names them, with or without the setting', async () => {
      const named = await registered();
      const self = newId();
      await register(self, [self]);
      const naming = await registered([named]);
      const records = await recorded(async () => {
        for (const at of [open, shut]) {
          const refused = await remove(named, at);
          expect([refused.status, refused.body.title]).to.deep.equal([409, 'Conflict']);
          expect(refused.body.detail).to.match(/^Another agent names this one in its delegates_to\./);
          expect(refused.text).not.to.include(naming);
        }
        expect((await remove(self)).status).to.equal(204);
        await change(naming, { delegates_to: null });
        expect((await remove(named)).status).to.equal(204);
      });
      const refusal = ['agent.deleted', 'deny', 'agent_named_by_others', named];
      expect(records).to.deep.equal([
        refusal,
        refusal,
        ['agent.deleted', 'allow', null, self],
        ['agent.updated', 'allow', 'changed:delegates_to', naming],
        ['agent.deleted', 'allow', null, named],
      ]);
    });

    it('are an unknown member without the setting; stored ones are kept and not shown', async () => {
      const other = await registered();
      const id = await registered([other]);
      const shown = await show(id);
      const records = await recorded(async () => {
        const unknown = { delegates_to: ['Is not a field of a registration.'] };
        for (const { status, body } of [
          await register(newId(), [other], shut),
          await change(id, { delegates_to: null }, shut),
        ]) {
          expect([status, body.errors]).to.deep.equal([400, unknown]);
        }
        const { delegates_to: _, ...hidden } = shown;
        expect(await show(id, shut)).to.deep.equal(hidden);
        expect((await change(id, { enabled: false }, shut)).body).to.not.have.property('delegates_to');
        expect((await change(id, { enabled: true }, shut)).status).to.equal(200);
      });
      expect(records.map(([, , reason]) => reason)).to.deep.equal(['changed:enabled', 'changed:enabled']);
      expect((await show(id)).delegates_to).to.deep.equal([other]);
    });
  });
}
