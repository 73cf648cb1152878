import { expect } from 'chai';
import { type Ancestor, judgeAbove, judgeChain } from '../../../domain/delegation/hand-over.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { agentIdOf, anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';

/** A chain as it is judged: the acting agent first. Each may delegate to all of them, unless `names` says otherwise. */
function judged(
  ids: string,
  {
    maxDepth = 5,
    depths = {},
    names = ids,
  }: { maxDepth?: number; depths?: Record<string, number>; names?: string } = {},
) {
  const delegatesTo = [...names].map(agentIdOf);
  const chain = [...ids].map((id) => ({ agentId: agentIdOf(id), delegatesTo, maxDelegationDepth: depths[id] ?? 5 }));
  return judgeChain(chain, maxDepth);
}

describe('A chain of agents', () => {
  for (const [ids, verdict] of [
    ['a', undefined],
    ['ba', undefined],
    ['edcba', undefined],
    ['aa', undefined],
    ['bba', undefined],
    ['baa', undefined],
    ['aaaaa', undefined],
    ['aba', 'delegation_not_allowed'],
    ['abba', 'delegation_not_allowed'],
    ['bab', 'delegation_not_allowed'],
    ['cbca', 'delegation_not_allowed'],
    ['fedcba', 'delegation_depth_exceeded'],
  ] as const) {
    it(`${[...ids].toReversed().join(' to ')}: ${verdict ?? 'allowed'}`, () => {
      expect(judged(ids)).to.equal(verdict);
    });
  }

  it('needs a registration that names the next agent at each hop', () => {
    expect(judged('cba', { names: 'c' }), 'a does not name b').to.equal('delegation_not_allowed');
    expect(judged('cba', { names: 'b' }), 'b does not name c').to.equal('delegation_not_allowed');
    expect(judgeChain([anAgent(), anAgent({ delegatesTo: undefined })], 5)).to.equal('delegation_not_allowed');
  });

  it('is as deep as every agent of it and the setting allow', () => {
    for (const id of 'abc') expect(judged('cba', { depths: { [id]: 2 } }), id).to.equal('delegation_depth_exceeded');
    expect(judged('cba', { maxDepth: 2 })).to.equal('delegation_depth_exceeded');
    expect(judged('cba', { maxDepth: 3, depths: { a: 3, b: 3, c: 3 } })).to.equal(undefined);
  });
});

describe('What the tasks above leave to a delegated one', () => {
  const ancestor = (changes: Partial<Ancestor> = {}): Ancestor => ({
    task: aTask(),
    state: { kind: 'live' },
    scope: ['jira:read', 'jira:comment'],
    agent: anAgent({ allowedScopes: ['jira:comment', 'jira:read', 'mail:send'], allowedAudiences: [aTask().audience] }),
    ...changes,
  });
  const refused = (reason: string) => ({ kind: 'refused', reason });

  it('is the scope that all of them have now, of what their agents still may', () => {
    expect(judgeAbove([ancestor(), ancestor()], NOON)).to.deep.equal({
      kind: 'held',
      scope: ['jira:read', 'jira:comment'],
    });
    expect(judgeAbove([ancestor(), ancestor({ scope: ['jira:comment'] })], NOON)).to.deep.include({
      scope: ['jira:comment'],
    });
    const agent = anAgent({ allowedScopes: ['jira:read'], allowedAudiences: [aTask().audience] });
    expect(judgeAbove([ancestor(), ancestor({ agent })], NOON)).to.deep.include({ scope: ['jira:read'] });
    expect(judgeAbove([ancestor({ scope: [] }), ancestor()], NOON)).to.deep.include({ scope: [] });
  });

  for (const nth of [0, 1]) {
    const where = nth === 0 ? 'the parent' : 'a task above the parent';
    const above = (changes: Partial<Ancestor>) =>
      [ancestor(), ancestor()].map((each, at) => (at === nth ? { ...each, ...changes } : each));

    it(`is nothing if ${where} has ended, or its time is up`, () => {
      const at = NOON;
      for (const changes of [
        { state: { kind: 'revoked', at, reason: 'client_revoked' } },
        { state: { kind: 'expired', at } },
        { task: aTask({ expiresAt: NOON }) },
      ] as const) {
        expect(judgeAbove(above(changes), NOON)).to.deep.equal(refused('parent_ended'));
      }
      expect(judgeAbove(above({ task: aTask({ expiresAt: plusSeconds(NOON, 1) }) }), NOON).kind).to.equal('held');
    });

    it(`is nothing if the agent of ${where} is disabled, removed, or may not act there any more`, () => {
      expect(judgeAbove(above({ agent: anAgent({ enabled: false }) }), NOON)).to.deep.equal(
        refused('ancestor_disabled'),
      );
      expect(judgeAbove(above({ agent: undefined }), NOON)).to.deep.equal(refused('ancestor_disabled'));
      const agent = anAgent({ allowedAudiences: ['https://wiki.example'] });
      expect(judgeAbove(above({ agent }), NOON)).to.deep.equal(refused('audience_not_allowed'));
    });
  }

  it('is nothing without a task above', () => {
    expect(judgeAbove([], NOON)).to.deep.equal(refused('parent_ended'));
  });
});
