/** Take-ups by an agent that has the disclosed signing key, or names its assertion like its own offer (docs/sub-agents.md). */

import { KeyObject } from 'node:crypto';
import { expect } from 'chai';
import { calculateJwkThumbprint, decodeJwt, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import { databasesByLength } from '../../support/databases.ts';
import { delegationAt, heldTask } from '../../support/delegation.ts';
import { type Form, fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { signingKeySettings } from '../../support/shared-signing-key.ts';

const DEEP = { max_delegation_depth: 2 };
const ONE_SENTENCE = 'The delegation offer is unknown, has expired, was used before, or is for another agent.';

for (const database of databasesByLength) {
  describe(`Forged offers on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let at: ReturnType<typeof delegationAt>;
    let child: RegisteredAgent;
    let parent: RegisteredAgent;
    let forge: (claims: JWTPayload) => Promise<string>;
    before(async () => {
      const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true });
      const kid = await calculateJwkThumbprint(await exportJWK(publicKey));
      forge = (claims) =>
        new SignJWT(claims).setProtectedHeader({ alg: 'ES256', typ: 'delegation-offer+jwt', kid }).sign(privateKey);
      mandate = await startMandate({
        database,
        settings: { ...signingKeySettings(KeyObject.from(privateKey)), 'Service:Delegation:Enabled': 'true' },
      });
      at = delegationAt(mandate);
      child = await mandate.agent(DEEP);
      parent = await mandate.agent(DEEP);
      await mandate.admin('PATCH', `/admin/agents/${parent.id}`, { delegates_to: [child.id, parent.id] });
    });
    after(() => mandate.stop());

    /** Expects one record of the refusal, and the one sentence. */
    async function refused(reason: string, by: RegisteredAgent, offer: string, form: Form = {}) {
      const [line, ...others] = await mandate.recorded(async () => {
        const { status, body } = await at.take(by, offer, form);
        const error = { error: 'invalid_grant', error_description: ONE_SENTENCE };
        expect({ status, body }).to.deep.equal({ status: 400, body: error });
      });
      expect(others).to.deep.equal([]);
      expect(line).to.include({ event: 'token.denied', decision: 'deny', reason, agent_id: by.id });
      return line;
    }

    it('no claim is recorded as a person before the offer was compared with its task', async () => {
      const task = heldTask(await parent.exchange());
      const claims = decodeJwt(await at.offer(parent, child, task.grant));
      const past = { iat: (claims.iat ?? 0) - 20, exp: (claims.iat ?? 0) - 10 };
      // Postgres cannot store U+0000.
      for (const sub of ['grace', 'a\u0000b', 'x'.repeat(5000)]) {
        for (const changes of [{ sub }, { sub, ...past }, { sub, may_act: { sub: `agent:${parent.id}` } }]) {
          const line = await refused('delegation_offer_unknown', child, await forge({ ...claims, ...changes }));
          expect(line).to.include({ sponsor: null });
        }
      }
      const old = await refused('delegation_offer_expired', child, await forge({ ...claims, ...past }));
      expect(old).to.include({ sponsor: 'ada' });
    });

    it('an old offer whose task was deleted has expired: it is no sign of a stolen key', async () => {
      const task = heldTask(await parent.exchange());
      const claims = decodeJwt(await at.offer(parent, child, task.grant));
      const gone = { ...(claims.task as object), id: 'task_01ARZ3NDEKTSV4RRFFQ69G5FAV' };
      const past = { iat: (claims.iat ?? 0) - 20, exp: (claims.iat ?? 0) - 10, task: gone };
      const line = await refused('delegation_offer_expired', child, await forge({ ...claims, ...past }));
      expect(line).to.include({ sponsor: null });
      await refused('delegation_offer_unknown', child, await forge({ ...claims, task: gone }));
    });

    it('an assertion with the jti of the agent’s own offer spends the offer, and begins no task', async () => {
      const task = heldTask(await parent.exchange());
      const named = (offer: string) => parent.assertion({ jti: decodeJwt(offer).jti });
      for (const formOf of [
        (offer: string): Form => ({ actor_token: named(offer) }),
        (offer: string): Form => ({
          client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
          client_assertion: named(offer),
        }),
      ]) {
        const offer = await at.offer(parent, parent, task.grant);
        await refused('delegation_offer_spent', parent, offer, formOf(offer));
        await refused('delegation_offer_spent', parent, offer);
      }
      // Another agent's jti is a name of its own.
      const offer = await at.offer(parent, child, task.grant);
      const lines = await mandate.recorded(async () => {
        const actor_token = child.assertion({ jti: decodeJwt(offer).jti });
        expect((await at.take(child, offer, { actor_token })).status).to.equal(200);
      });
      expect(fieldsOf(lines, 'event')).to.deep.equal([['token.issued'], ['delegation.taken']]);
    });
  });
}
