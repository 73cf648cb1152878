/**
 * Requests as ordinary OAuth libraries send them, with Service:Exchange:ClientIsActor and
 * Service:Exchange:AudienceParameter. Without the settings they are refused: token-exchange.test.ts.
 */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databasesByLength } from '../support/databases.ts';
import {
  type Answer,
  encodeForm,
  type Form,
  fieldsOf,
  JIRA,
  type LedgerLine,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  WIKI,
  withService,
} from '../support/mandate.ts';

const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token';
const JWT = 'urn:ietf:params:oauth:token-type:jwt';
const NO_ACTOR = { actor_token: undefined, actor_token_type: undefined };

/** Authenticates an exchange by this assertion, and sends no `actor_token`. */
const byClient = (client_assertion: string | undefined): Form => ({
  ...NO_ACTOR,
  client_assertion_type: JWT_BEARER,
  client_assertion,
});

for (const database of databasesByLength) {
  describe(`Ordinary OAuth clients on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      mandate = await startMandate({
        database,
        settings: {
          'Service:Exchange:ClientIsActor': 'true',
          'Service:Exchange:AudienceParameter': 'true',
          // Each refusal has its own record.
          'Service:Audit:Aggregation:Enabled': 'false',
        },
      });
    });
    beforeEach(async () => {
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    /** The answer, and the records that the request added. */
    async function sent(act: () => Promise<Answer>): Promise<{ answer: Answer; lines: readonly LedgerLine[] }> {
      let answer: Answer | undefined;
      const lines = await mandate.recorded(async () => {
        answer = await act();
      });
      if (answer === undefined) throw new Error('nothing was sent');
      return { answer, lines };
    }

    /** Expects one record of a refusal, without the text that was sent in the answer. */
    async function refused(act: () => Promise<Answer>, error: string, description: string, about: object, text = '') {
      const { answer, lines } = await sent(act);
      expect([answer.status, answer.body]).to.deep.equal([400, { error, error_description: description }]);
      if (text !== '') expect(answer.text).not.to.include(text);
      expect(lines).to.have.lengthOf(1);
      expect(lines[0]).to.include({ event: 'token.denied', decision: 'deny', jti: null, task_id: null, ...about });
      return lines[0];
    }
    const UNNAMED = { reason: 'invalid_request', agent_id: null, sponsor: null, audience: null };
    const raw = (body: string) =>
      mandate.send('/oauth2/token', {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
      });

    it('become the actor by their client_assertion, which is then used up', async () => {
      for (const empty of [{}, { actor_token: '' }, { actor_token: '', actor_token_type: '' }]) {
        const assertion = agent.assertion({ instance: 'pod-7' });
        const { answer, lines } = await sent(() => agent.exchange({ ...byClient(assertion), ...empty }));
        expect(answer.status, answer.text).to.equal(200);
        const claims = decodeJwt(String(answer.body.access_token));
        expect(claims).to.deep.include({
          sub: 'ada',
          aud: JIRA,
          client_id: `agent:${agent.id}`,
          act: { sub: `agent:${agent.id}`, instance: 'pod-7', depth: 1 },
        });
        expect(fieldsOf(lines, 'event', 'agent_id', 'sponsor', 'audience', 'jti', 'delegation_depth')).to.deep.equal([
          ['token.issued', agent.id, 'ada', JIRA, claims.jti, 1],
        ]);
        for (const form of [byClient(assertion), { actor_token: assertion }]) {
          const replay = await sent(() => agent.exchange(form));
          expect([replay.answer.status, replay.answer.body.error]).to.deep.equal([401, 'invalid_client']);
          expect(fieldsOf(replay.lines, 'reason', 'agent_id')).to.deep.equal([['actor_replayed', agent.id]]);
        }
      }
    });

    it('may call the tokens JWTs, as Spring does, and get the type that they ask for', async () => {
      for (const [requested_token_type, issued_token_type] of [
        ['', ACCESS_TOKEN],
        [ACCESS_TOKEN, ACCESS_TOKEN],
        [JWT, JWT],
      ]) {
        const form = {
          ...byClient(agent.assertion({ aud: `${mandate.issuer}/oauth2/token` })),
          client_id: agent.id,
          resource: undefined,
          audience: JIRA,
          subject_token_type: JWT,
          requested_token_type,
        };
        const { answer, lines } = await sent(() => agent.exchange(form));
        expect(answer.status, answer.text).to.equal(200);
        expect(answer.body).to.include({ issued_token_type, token_type: 'Bearer' });
        const { jti } = decodeJwt(String(answer.body.access_token));
        expect(fieldsOf(lines, 'event', 'sponsor', 'jti')).to.deep.equal([['token.issued', 'ada', jti]]);
        const renewed = await agent.refresh(String(answer.body.refresh_token));
        expect(renewed.body).to.include({ issued_token_type: ACCESS_TOKEN });
      }
      for (const name of ['subject_token_type', 'requested_token_type']) {
        const other = 'urn:ietf:params:oauth:token-type:id_token';
        const sentence = `The parameter ${name} must be ${ACCESS_TOKEN} or ${JWT}.`;
        await refused(() => agent.exchange({ [name]: other }), 'invalid_request', sentence, UNNAMED, other);
      }
      await withService(mandate.another({ 'Service:Exchange:ClientIsActor': 'false' }), async (strict) => {
        for (const name of ['subject_token_type', 'requested_token_type']) {
          const answer = await strict.post('/oauth2/token', agent.exchangeForm({ [name]: JWT }));
          const error_description = `The parameter ${name} must be ${ACCESS_TOKEN}.`;
          expect(answer.body).to.deep.equal({ error: 'invalid_request', error_description });
        }
      });
    });

    it('are refused and recorded as with an actor_token', async () => {
      const disabled = await mandate.agent();
      await mandate.admin('PATCH', `/admin/agents/${disabled.id}`, { enabled: false });
      const unreachable = await mandate.agent({ jwks: undefined, jwks_uri: await mandate.keyServer.unusedUri() });
      const cases: readonly (readonly [reason: string, assertion: () => string | undefined, changes?: Form])[] = [
        ['actor_malformed', () => undefined],
        ['actor_keys_unavailable', () => unreachable.assertion()],
        ['actor_client_id_mismatch', () => agent.assertion(), { client_id: disabled.id }],
        ['agent_disabled', () => disabled.assertion()],
        ['subject_malformed', () => agent.assertion(), { subject_token: 'not-a-token' }],
        ['scope_intersection_empty', () => agent.assertion(), { scope: 'jira:admin' }],
      ];
      const about = (lines: readonly LedgerLine[]) => lines.map(({ seq, ts, ...fields }) => fields);
      for (const [reason, assertion, changes] of cases) {
        const asActor = assertion();
        const actor = await sent(() => agent.exchange({ actor_token: asActor, ...changes }));
        const asClient = assertion();
        const client = await sent(() => agent.exchange({ ...byClient(asClient), ...changes }));
        expect(fieldsOf(client.lines, 'event', 'reason')).to.deep.equal([['token.denied', reason]]);
        expect([client.answer.status, client.answer.body], reason).to.deep.equal([
          actor.answer.status,
          actor.answer.body,
        ]);
        expect(about(client.lines), reason).to.deep.equal(about(actor.lines));
      }
    });

    it('keep their assertion after a 503, and lose it with a refusal', async () => {
      const assertion = agent.assertion();
      await withService(mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' }), async (cut) => {
        const answer = await cut.post('/oauth2/token', agent.exchangeForm(byClient(assertion)));
        expect([answer.status, answer.body.error]).to.deep.equal([503, 'temporarily_unavailable']);
      });
      const form = byClient(assertion);
      expect((await agent.exchange({ ...form, scope: 'jira:admin' })).body.error).to.equal('invalid_scope');
      expect((await agent.exchange(form)).body.error).to.equal('invalid_client');
    });

    it('are refused with a client_assertion or an audience that is sent twice, or by a wrong type', async () => {
      const assertion = agent.assertion();
      const form = agent.exchangeForm({ ...byClient(assertion), resource: undefined, audience: JIRA });
      for (const [name, value] of [
        ['client_assertion', agent.assertion()],
        ['audience', JIRA],
        ['audience', 'https://second.example'],
      ] as const) {
        const body = `${encodeForm(form)}&${encodeForm({ [name]: value })}`;
        await refused(() => raw(body), 'invalid_request', `The parameter ${name} is repeated.`, UNNAMED, value);
      }
      for (const [name, accepted] of [
        ['client_assertion_type', JWT_BEARER],
        ['actor_token_type', JWT],
      ] as const) {
        const sending = () => agent.exchange({ ...form, [name]: 'urn:example:another' });
        const sentence = `The parameter ${name} must be ${accepted}.`;
        await refused(sending, 'invalid_request', sentence, UNNAMED, 'urn:example');
      }
      // None of these used the assertion up.
      expect((await agent.exchange(form)).status).to.equal(200);
    });

    it('may name the resource by audience, and get the token of that resource', async () => {
      for (const form of [
        { resource: undefined, audience: WIKI },
        { resource: WIKI, audience: WIKI },
      ]) {
        const { answer, lines } = await sent(() => agent.exchange(form));
        expect(answer.status, answer.text).to.equal(200);
        const claims = decodeJwt(String(answer.body.access_token));
        expect(claims).to.include({ aud: WIKI, introspect_required: true });
        expect(fieldsOf(lines, 'event', 'audience', 'jti')).to.deep.equal([['token.issued', WIKI, claims.jti]]);
      }
    });

    it('are refused with an audience that the agent may not have, or that is no resource', async () => {
      const named = 'The agent may not act at the resource that the parameter audience names.';
      const others = ['https://payroll.example', `${JIRA}#section`, `${JIRA}/`, '/relative', 'jira', '__proto__'];
      for (const audience of others) {
        const form = { resource: undefined, audience };
        const record = await refused(() => agent.exchange(form), 'invalid_target', named, {
          reason: 'audience_not_allowed',
          agent_id: agent.id,
          sponsor: 'ada',
          audience,
        });
        // As with resource, but for the name of the parameter.
        const { seq, ts, ...fields } = record as LedgerLine;
        const byResource = await refused(
          () => agent.exchange({ resource: audience }),
          'invalid_target',
          'The agent may not act at this resource.',
          fields,
        );
        expect(Object.keys(byResource ?? {})).to.deep.equal(Object.keys(record ?? {}));
      }
      const conflict = () => agent.exchange({ audience: WIKI });
      const sentence = 'The parameters resource and audience must be equal.';
      await refused(conflict, 'invalid_request', sentence, UNNAMED, WIKI);
      const spaced = () => agent.exchange({ resource: undefined, audience: 'https://jira .example' });
      const white = 'The parameter audience holds white space or control characters.';
      await refused(spaced, 'invalid_request', white, UNNAMED, 'jira .example');
      const neither = () => agent.exchange({ resource: undefined, audience: '' });
      await refused(neither, 'invalid_request', 'The parameter resource is missing.', UNNAMED);
    });

    it('renew with audience, with resource, or with neither', async () => {
      const issued = await agent.exchange();
      const grant = String(issued.body.refresh_token);
      for (const form of [{ audience: JIRA }, { resource: undefined, audience: JIRA }, { resource: undefined }]) {
        const answer = await agent.refresh(grant, form);
        expect(answer.status, answer.text).to.equal(200);
        expect(answer.body).to.include({ task_id: issued.body.task_id, refresh_token: grant });
        expect(decodeJwt(String(answer.body.access_token))).to.include({ aud: JIRA });
      }
      const task = { task_id: issued.body.task_id, agent_id: agent.id, sponsor: 'ada' };
      const other = () => agent.refresh(grant, { resource: undefined, audience: WIKI });
      const sentence = "The resource that the parameter audience names is not the task's.";
      await refused(other, 'invalid_target', sentence, { ...task, reason: 'audience_mismatch', audience: WIKI });
      const conflict = () => agent.refresh(grant, { audience: WIKI });
      await refused(conflict, 'invalid_request', 'The parameters resource and audience must be equal.', UNNAMED);
      const wider = () => agent.refresh(grant, { resource: undefined, scope: 'jira:admin' });
      const widened = 'A refresh may not ask for a scope that the task does not hold.';
      await refused(wider, 'invalid_scope', widened, { ...task, reason: 'scope_widened', audience: JIRA });
      const unknown = () => agent.refresh('task_grant_unknown', { resource: undefined });
      await refused(
        unknown,
        'invalid_grant',
        'The task grant is unknown, was revoked, or belongs to another agent.',
        { reason: 'grant_not_found', agent_id: agent.id, sponsor: null, audience: null },
        'task_grant_unknown',
      );
    });
  });
}
