/** The assertions of an agent at an exchange: how many it accepts, and how often. */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { makeAgentKey } from '../../support/agents/agent-key.ts';
import { fieldsOf, withService } from '../../support/mandate.ts';
import type { Service } from './service.ts';

const CLIENT_ASSERTION = {
  client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
};

export function testAssertions(service: Service): void {
  it('opens exactly one task if one assertion is presented a hundred times at once', async () => {
    const { mandate, agent } = service;
    const form = agent.exchangeForm();
    const lines = await mandate.recorded(async () => {
      const answers = await Promise.all(Array.from({ length: 100 }, () => mandate.post('/oauth2/token', form)));
      expect(answers.filter((answer) => answer.status === 200)).to.have.lengthOf(1);
      expect(answers.filter((answer) => answer.body.error === 'invalid_client')).to.have.lengthOf(99);
    });
    expect(lines.filter((line) => line.event === 'token.issued')).to.have.lengthOf(1);
    expect(lines.filter((line) => line.reason === 'actor_replayed')).to.have.lengthOf(99);
  });

  it('accepts a client_assertion in addition to the actor_token, and marks both as used', async () => {
    const { mandate, agent } = service;
    const actor_token = agent.assertion({ instance: 'pod-7' });
    const client_assertion = agent.assertion({ instance: 'another' });
    const lines = await mandate.recorded(async () => {
      const issued = await agent.exchange({ ...CLIENT_ASSERTION, actor_token, client_assertion });
      expect(issued.status, issued.text).to.equal(200);
      // The instance is from the actor_token.
      expect(decodeJwt<{ act: object }>(String(issued.body.access_token)).act).to.include({ instance: 'pod-7' });
    });
    expect(lines.map(({ event }) => event)).to.deep.equal(['token.issued']);
    for (const spent of [actor_token, client_assertion]) {
      const replays = await mandate.recorded(async () => {
        for (const form of [{ actor_token: spent }, { ...CLIENT_ASSERTION, client_assertion: spent }]) {
          const answer = await agent.exchange(form);
          expect([answer.status, answer.body.error]).to.deep.equal([401, 'invalid_client']);
        }
      });
      for (const line of replays) expect(line).to.include({ reason: 'actor_replayed', agent_id: agent.id });
      expect(replays).to.have.lengthOf(2);
    }
  });

  it('marks both assertions of a refused exchange as used, and neither after a 503', async () => {
    const { mandate, agent } = service;
    const both = () => ({ ...CLIENT_ASSERTION, actor_token: agent.assertion(), client_assertion: agent.assertion() });
    const refused = both();
    expect((await agent.exchange({ ...refused, scope: 'nobody:has' })).body.error).to.equal('invalid_scope');
    for (const form of [
      { actor_token: refused.actor_token },
      { ...CLIENT_ASSERTION, client_assertion: refused.client_assertion },
    ]) {
      expect((await agent.exchange(form)).body.error).to.equal('invalid_client');
    }
    const unused = both();
    await withService(mandate.another({ 'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9' }), async (cut) => {
      const answer = await cut.post('/oauth2/token', agent.exchangeForm(unused));
      expect(answer.body.error).to.equal('temporarily_unavailable');
    });
    expect((await agent.exchange(unused)).status).to.equal(200);
  });

  it('refuses a client_assertion without an actor_token, and does not mark it as used', async () => {
    const { mandate, agent } = service;
    const client_assertion = agent.assertion();
    const lines = await mandate.recorded(async () => {
      const form = { ...CLIENT_ASSERTION, client_assertion, actor_token: undefined, actor_token_type: undefined };
      const answer = await agent.exchange(form);
      expect([answer.status, answer.body]).to.deep.equal([
        400,
        { error: 'invalid_request', error_description: 'The parameter actor_token is missing.' },
      ]);
    });
    expect(fieldsOf(lines, 'reason', 'agent_id')).to.deep.equal([['invalid_request', null]]);
    // The service has not read the assertion, so it is still unused.
    expect((await agent.exchange({ actor_token: client_assertion })).status).to.equal(200);
  });

  it('accepts assertions signed with RS256 and PS256, with and without a kid', async () => {
    const { mandate } = service;
    for (const alg of ['RS256', 'PS256'] as const) {
      const key = await makeAgentKey(alg);
      const signer = await mandate.agent({ jwks: key.jwks });
      for (const kid of [key.kid, undefined]) {
        const assertion = key.signAssertion(signer.id, { aud: `${mandate.issuer}/oauth2/token` }, { kid });
        expect((await signer.exchange({ actor_token: assertion })).status).to.equal(200);
      }
    }
  });

  it('refuses an assertion that another process on the same database has already accepted', async () => {
    const { mandate, agent } = service;
    const form = agent.exchangeForm();
    expect((await mandate.post('/oauth2/token', form)).status).to.equal(200);
    await withService(mandate.another({}), async (other) => {
      const lines = await other.recorded(async () => {
        const replay = await other.post('/oauth2/token', form);
        expect(replay.status).to.equal(401);
      });
      expect(lines.at(-1)).to.include({ reason: 'actor_replayed', agent_id: agent.id });
    });
  });
}
