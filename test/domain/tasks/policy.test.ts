import { expect } from 'chai';
import fc from 'fast-check';
import { judgePolicy } from '../../../domain/tasks/policy.ts';

const agent = {
  allowedScopes: ['jira:read', 'jira:comment'],
  allowedAudiences: ['https://jira.example', 'https://wiki.example'],
  maxDelegationDepth: 2,
};
const asked = {
  audience: 'https://jira.example',
  requested: ['jira:read'],
  held: ['jira:read', 'jira:admin'],
  depth: 1,
};

describe('the policy', () => {
  it("grants exactly the scopes that the request, the person's token and the registration have", () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
    const scope = fc.uniqueArray(name);
    fc.assert(
      fc.property(scope, scope, scope, (requested, held, allowedScopes) => {
        const verdict = judgePolicy({ ...agent, allowedScopes }, { ...asked, requested, held });
        const expected = requested.filter((one) => held.includes(one) && allowedScopes.includes(one));
        if (expected.length === 0)
          expect(verdict).to.deep.equal({ kind: 'refused', reason: 'scope_intersection_empty' });
        else expect(verdict).to.deep.equal({ kind: 'granted', scope: expected });
      }),
    );
  });

  it('refuses an audience that is not literally in the registration', () => {
    for (const audience of ['https://jira.example/', 'https://JIRA.example', 'https://other.example', '__proto__']) {
      expect(judgePolicy(agent, { ...asked, audience })).to.deep.equal({
        kind: 'refused',
        reason: 'audience_not_allowed',
      });
    }
  });

  it('refuses more actors than the registration allows', () => {
    expect(judgePolicy(agent, { ...asked, depth: 2 })).to.include({ kind: 'granted' });
    expect(judgePolicy(agent, { ...asked, depth: 3 })).to.deep.equal({
      kind: 'refused',
      reason: 'delegation_depth_exceeded',
    });
  });

  it('checks the scope first, then the audience, then the depth, as the specification says', () => {
    const all = { ...asked, requested: ['none'], audience: 'https://no.example', depth: 9 };
    expect(judgePolicy(agent, all)).to.include({ reason: 'scope_intersection_empty' });
    expect(judgePolicy(agent, { ...all, requested: ['jira:read'] })).to.include({ reason: 'audience_not_allowed' });
  });
});
