/** What an agent is as a client of `/oauth2/authorize`: four members of its registration. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { describeDenial } from '../../../domain/denial.ts';
import { databasesByLength } from '../../support/databases.ts';
import { type Answer, aRegistration, fieldsOf, type Mandate, startMandate } from '../../support/mandate.ts';
import { P256_KEY } from '../../support/registrations.ts';

const OPEN = { 'Service:Me:ClientId': 'page', 'Service:Authorize:ClientId': 'authorize' };
const ABSENT = { redirect_uris: null, public_client: false, client_id_document: null, client_names: null };
const FIELDS = Object.keys(ABSENT);

for (const database of databasesByLength) {
  describe(`Clients of /oauth2/authorize in registrations on ${database.name}`, function () {
    this.timeout(60_000);
    let shut: Mandate;
    let open: Mandate;
    before(async () => {
      shut = await startMandate({ database, settings: { 'Service:Audit:Aggregation:Enabled': 'false' } });
      open = await shut.another(OPEN);
    });
    after(async () => {
      await open.stop();
      await shut.stop();
    });

    const aClient = () => {
      const id = randomUUID();
      return {
        agent_id: `client-${id}`,
        jwks: undefined,
        redirect_uris: ['http://127.0.0.1/callback', `https://app.example/${id}`, 'cursor://app/callback'],
        public_client: true,
        client_id_document: `https://app.example/${id}.json`,
        client_names: ['Cursor', 'Claude Code (*'],
      };
    };
    const register = (at: Mandate, changes: object): Promise<Answer> =>
      at.admin(
        'POST',
        '/admin/agents',
        aRegistration({ agent_id: `agent-${randomUUID()}`, jwks: { keys: [P256_KEY] }, ...changes }),
      );
    const change = (at: Mandate, id: unknown, changes: object): Promise<Answer> =>
      at.admin('PATCH', `/admin/agents/${id}`, changes);
    const show = async (at: Mandate, id: unknown) => (await at.admin('GET', `/admin/agents/${id}`)).body;
    const recorded = async (act: () => Promise<unknown>) =>
      fieldsOf(await shut.recorded(act), 'event', 'decision', 'reason', 'agent_id');

    it('are kept as sent and shown, and null removes them', async () => {
      const { jwks: _, agent_id, ...members } = aClient();
      const registered = await register(open, { ...members, agent_id, jwks: undefined });
      expect(registered.status, registered.text).to.equal(201);
      expect(registered.body).to.deep.include({ ...members, jwks: null, jwks_uri: null });
      expect(await show(open, agent_id)).to.deep.equal(registered.body);
      const plain = (await register(open, {})).body;
      expect(plain).to.deep.include(ABSENT);
      const records = await recorded(async () => {
        const { status, body } = await change(open, agent_id, { ...ABSENT, jwks: { keys: [P256_KEY] } });
        expect([status, body.jwks]).to.deep.equal([200, { keys: [P256_KEY] }]);
        expect(body).to.deep.include(ABSENT);
      });
      expect(records).to.deep.equal([['agent.updated', 'allow', `changed:jwks,${FIELDS.join(',')}`, agent_id]]);
    });

    it('may lack keys only while PKCE or a document authenticates the client', async () => {
      const sentence = ['Exactly one of jwks_uri and jwks must be set.'];
      const { agent_id, client_id_document } = aClient();
      const bare = { agent_id, jwks: undefined };
      expect((await register(open, bare)).body.errors).to.deep.equal({ jwks_uri: sentence, jwks: sentence });
      expect((await register(open, { ...bare, public_client: true })).status).to.equal(201);
      expect((await change(open, agent_id, { public_client: false, client_id_document })).status).to.equal(200);
      expect((await change(open, agent_id, { client_id_document: null })).body.errors).to.have.keys('jwks_uri', 'jwks');
      expect(await show(open, agent_id)).to.deep.include({ client_id_document, jwks: null });
    });

    it('are unknown members without the setting; stored ones are kept and not shown, and no door opens', async () => {
      const { agent_id, ...members } = aClient();
      await register(open, { ...members, agent_id });
      const { jwks: _, ...named } = members;
      const unknown = Object.fromEntries(FIELDS.map((field) => [field, ['Is not a field of a registration.']]));
      const records = await recorded(async () => {
        for (const { status, body } of [await register(shut, named), await change(shut, agent_id, named)])
          expect([status, body.errors]).to.deep.equal([400, unknown]);
        expect(await show(shut, agent_id)).to.not.have.any.keys(FIELDS);
        const { body } = await change(shut, agent_id, { display_name: 'Kept' });
        expect(body)
          .to.deep.include({ display_name: 'Kept', jwks: null, jwks_uri: null })
          .and.not.have.any.keys(FIELDS);
        expect((await change(shut, agent_id, { enabled: false })).status).to.equal(200);
        expect((await change(shut, agent_id, { enabled: true })).status).to.equal(200);
      });
      expect(records.map(([, , reason]) => reason)).to.deep.equal([
        'changed:display_name',
        'changed:enabled',
        'changed:enabled',
      ]);
      expect(await show(open, agent_id)).to.deep.include(named);
    });

    it('without keys authenticate no assertion, whatever signed it', async () => {
      const { agent_id, ...members } = aClient();
      const agent = await open.agent({ ...members, agent_id: agent_id as never, jwks: undefined });
      for (const at of [open, shut]) {
        const records = await recorded(async () => {
          const { status, body } = await at.post('/oauth2/token', agent.exchangeForm());
          const { sentence } = describeDenial('actor_no_registered_keys');
          expect([status, body]).to.deep.equal([401, { error: 'invalid_client', error_description: sentence }]);
        });
        expect(records).to.deep.equal([['token.denied', 'deny', 'actor_no_registered_keys', null]]);
      }
    });

    it('have their own document: one of another agent is 409, also when it comes with a change, and recorded', async () => {
      const [first, second] = [aClient(), aClient()];
      const { client_id_document } = first;
      for (const client of [first, second]) expect((await register(open, client)).status).to.equal(201);
      const records = await recorded(async () => {
        for (const answer of [
          await register(open, {
            ...aClient(),
            agent_id: second.agent_id.replace('client', 'third'),
            client_id_document,
          }),
          await change(open, second.agent_id, { client_id_document, display_name: 'not stored' }),
        ]) {
          expect([answer.status, answer.body.title]).to.deep.equal([409, 'Conflict']);
          expect(answer.body.errors).to.deep.equal({ client_id_document: ['Another agent has this document.'] });
        }
        // Its own document is no conflict, and neither is one that another agent gave up.
        expect((await change(open, first.agent_id, { client_id_document })).status).to.equal(200);
      });
      expect(records).to.deep.equal([
        ['agent.registered', 'deny', 'client_id_document_taken', second.agent_id.replace('client', 'third')],
        ['agent.updated', 'deny', 'client_id_document_taken', second.agent_id],
        ['agent.updated', 'allow', 'no_change', first.agent_id],
      ]);
      expect(await show(open, second.agent_id)).to.include({ client_id_document: second.client_id_document });
      expect((await change(open, first.agent_id, { client_id_document: null })).status).to.equal(200);
      expect((await change(open, second.agent_id, { client_id_document })).status).to.equal(200);
    });
  });
}
