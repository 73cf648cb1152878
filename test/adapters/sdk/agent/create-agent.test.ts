import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { createAgent } from '../../../../adapters/sdk/agent/agent.ts';

import { thrownBy } from '../../../support/thrown-by.ts';

const JIRA = 'https://jira.example';

describe('createAgent', () => {
  const options = { issuer: 'https://mandate.example', agentId: 'jira-triage' };
  const pemOf = (namedCurve: string) =>
    generateKeyPairSync('ec', { namedCurve }).privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();

  for (const curve of ['P-384', 'P-521', 'secp256k1']) {
    it(`refuses a key on ${curve}`, () => {
      expect(() => createAgent({ ...options, key: { pem: pemOf(curve) } })).to.throw(TypeError, /EC key on P-256/);
    });
  }

  for (const alg of ['ES384', 'HS256', 'none', undefined]) {
    it(`refuses a signer with the alg ${alg}`, () => {
      const signer = { alg, sign: () => new Uint8Array(64) };
      expect(() => createAgent({ ...options, key: signer as never })).to.throw(TypeError, /ES256, PS256 or RS256/);
    });
  }

  for (const [what, changes, message] of [
    ['no scope', { scope: [] }, /agent\.startTask: scope must be a list of at least one scope/],
    ['a resource that is not a URL', { resource: 'jira' }, /resource must be an absolute http or https URL/],
    ['a resource with a fragment', { resource: `${JIRA}#x` }, /resource must be an absolute http or https URL/],
  ] as const) {
    it(`makes an agent that sends no request for a task with ${what}`, async () => {
      let sent = 0;
      const fetch = async () => {
        sent += 1;
        return new Response('{}');
      };
      const agent = createAgent({ ...options, key: { pem: pemOf('P-256') }, fetch });
      const error = await thrownBy(
        agent.startTask({ subjectToken: 'a.b.c', resource: JIRA, scope: ['jira:read'], ...changes }),
      );
      expect(error).to.be.instanceOf(TypeError).with.property('message').that.matches(message);
      expect(sent).to.equal(0);
    });
  }
});
