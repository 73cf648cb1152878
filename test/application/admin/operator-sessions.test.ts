/** Who an operator is by the claims of an ID token. */

import { expect } from 'chai';
import { type OperatorClaims, operatorOf, type SignedIn } from '../../../application/admin/operator-sessions.ts';

const names: OperatorClaims = {
  ...{ roleClaim: 'roles', sponsorKeyClaim: 'email' },
  roles: { viewer: 'read', auditor: undefined, registrar: undefined, responder: 'stop' },
};

const signedIn = (claims: object) =>
  ({ kind: 'signed_in', issuer: 'https://idp.example', person: { subject: 'olga' }, claims }) as unknown as SignedIn;

describe('The operator of an ID token', () => {
  it('has the roles of the claim, and is named by blocks as the sponsor key claim says', () => {
    const claims = { roles: ['stop', 'other'], email: 'olga@people.example' };
    expect(operatorOf(signedIn(claims), names)).to.deep.equal({
      ...{ kind: 'person', issuer: 'https://idp.example', subject: 'olga' },
      ...{ sponsorKey: 'olga@people.example', roles: ['responder'] },
    });
  });

  // Such an operator lifts no block: they may be the blocked person.
  for (const email of [undefined, '', 'two words', 'x'.repeat(257), ['olga@people.example']]) {
    it(`has no sponsor key with the claim ${JSON.stringify(email)?.slice(0, 30) ?? 'absent'}`, () => {
      expect(operatorOf(signedIn({ roles: 'read', email }), names).sponsorKey).to.equal(undefined);
    });
  }
});
