/** Who an operator is by the claims of an ID token. */

import { expect } from 'chai';
import { type OperatorClaims, operatorIn } from '../../../domain/operators/operator.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';

const names: OperatorClaims = {
  roleClaim: 'roles',
  sponsorKeyClaim: 'email',
  roles: { viewer: 'read', auditor: undefined, registrar: undefined, responder: 'stop' },
};

const operatorOf = (claims: JsonObject) =>
  operatorIn(claims, names, { issuer: 'https://idp.example', subject: 'olga' });

describe('The operator of an ID token', () => {
  it('has the roles of the claim, and is named by blocks as the sponsor key claim says', () => {
    const claims = { roles: ['stop', 'other'], email: 'olga@people.example' };
    expect(operatorOf(claims)).to.deep.equal({
      kind: 'person',
      issuer: 'https://idp.example',
      subject: 'olga',
      sponsorKey: 'olga@people.example',
      roles: ['responder'],
    });
  });

  // Such an operator lifts no block: they may be the blocked person.
  for (const email of [undefined, '', 'two words', 'x'.repeat(257), ['olga@people.example']]) {
    it(`has no sponsor key with the claim ${JSON.stringify(email)?.slice(0, 30) ?? 'absent'}`, () => {
      expect(operatorOf({ roles: 'read', ...(email !== undefined && { email }) }).sponsorKey).to.equal(undefined);
    });
  }
});
