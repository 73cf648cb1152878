/** Access tokens that are bound to a key, with `Service:UpstreamIdp:RefuseBoundTokens` on and off. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { type Answer, fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { OPERATORS, operatorToken, ROLE_VALUES } from '../support/operators.ts';

const ME = 'https://mandate.test/me';
/** RFC 9449 §6.1, RFC 8705 §3.1, and a form that no standard has. */
const BOUND = [{ jkt: 'thumbprint-of-a-key' }, { 'x5t#S256': 'hash-of-a-certificate' }, 'some-key'];

for (const database of databasesByLength) {
  describe(`RefuseBoundTokens on ${database.name}`, () => {
    let refusing: Mandate;
    let off: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      const settings = { 'Service:Me:Audience': ME, ...OPERATORS, 'Service:Audit:Aggregation:Enabled': 'false' };
      off = await startMandate({ database, settings });
      refusing = await off.another({ 'Service:UpstreamIdp:RefuseBoundTokens': 'true' });
      agent = await off.agent();
    });
    after(async () => {
      await refusing.stop();
      await off.stop();
    });

    const tokenAs = (at: Mandate, path: string, token: string): Promise<Answer> =>
      at.get(path, { authorization: `Bearer ${token}` });
    const exchange = (at: Mandate, cnf: unknown) =>
      at.post('/oauth2/token', agent.exchangeForm({ subject_token: agent.subjectToken({ cnf }) }));
    const ofPerson = (at: Mandate, cnf: unknown) => tokenAs(at, '/me/tasks', agent.subjectToken({ aud: ME, cnf }));
    const ofOperator = (at: Mandate, cnf: unknown) =>
      tokenAs(at, '/admin/agents', operatorToken(off, { roles: [ROLE_VALUES.viewer], cnf }));

    it('refuses bound tokens at the exchange, at /me and from operators, and records the reason', async () => {
      for (const cnf of BOUND) {
        const lines = await off.recorded(async () => {
          const exchanged = await exchange(refusing, cnf);
          expect([exchanged.status, exchanged.body]).to.deep.equal([
            400,
            {
              error: 'invalid_grant',
              error_description:
                'The subject token is bound to a key, which a task token is not; present one without cnf.',
            },
          ]);
        });
        const about = fieldsOf(lines, 'event', 'decision', 'reason', 'agent_id', 'sponsor');
        expect(about).to.deep.equal([['token.denied', 'deny', 'subject_bound_to_key', agent.id, 'ada']]);
        const elsewhere = await off.recorded(async () => {
          const [person, operator] = [await ofPerson(refusing, cnf), await ofOperator(refusing, cnf)];
          expect([person.status, operator.status]).to.deep.equal([401, 401]);
        });
        expect(fieldsOf(elsewhere, 'event', 'decision', 'reason', 'sponsor')).to.deep.equal([
          ['me.denied', 'deny', 'invalid_token', null],
          ['admin.denied', 'deny', 'invalid_api_key', null],
        ]);
      }
    });

    it('accepts bound tokens while it is off; while it is on, tokens whose cnf is absent or null', async () => {
      for (const [at, cnf] of [
        ...BOUND.map((one) => [off, one] as const),
        ...[[refusing, undefined] as const, [refusing, null] as const],
      ]) {
        const answers = [await exchange(at, cnf), await ofPerson(at, cnf), await ofOperator(at, cnf)];
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
      }
    });
  });
}
