import { expect } from 'chai';
import fc from 'fast-check';
import { type Actor, readActorChain } from '../../../domain/tasks/actor-chain.ts';
import type { Json } from '../../../domain/tokens/strict-json.ts';

/** An `act` claim with these depths, from the outermost actor to the innermost. */
function chain(depths: readonly number[], change: (depth: number) => object = () => ({})): Json | undefined {
  return depths.reduceRight<Json | undefined>((act, depth) => {
    return { sub: `agent:hop-${depth}`, instance: `pod ${depth}`, depth, ...(act && { act }), ...change(depth) };
  }, undefined);
}

function subjects(actor: Actor | undefined): readonly string[] {
  return actor === undefined ? [] : [actor.sub, ...subjects(actor.act)];
}

describe('the act claim', () => {
  it('names the calling agent outermost, and the agents that delegated to it inside', () => {
    const actor = readActorChain(chain([3, 2, 1]));
    expect(subjects(actor)).to.deep.equal(['agent:hop-3', 'agent:hop-2', 'agent:hop-1']);
    expect([actor?.depth, actor?.instance, actor?.act?.act?.instance]).to.deep.equal([3, 'pod 3', 'pod 1']);
  });

  it('has depths that fall by one to 1; with any others it is malformed', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -1, max: 6 }), { minLength: 1, maxLength: 6 }), (depths) => {
        const descending = depths.every((depth, index) => depth === depths.length - index);
        expect(readActorChain(chain(depths)) !== undefined).to.equal(descending);
      }),
      { numRuns: 500 },
    );
  });

  const wrong: readonly (readonly [string, object])[] = [
    ['no sub', { sub: undefined }],
    ['a sub that is a person', { sub: 'ada' }],
    ['a sub that is an agent in another spelling', { sub: 'Agent:triage' }],
    ['a sub with an invalid agent_id', { sub: 'agent:Triage' }],
    ['no depth', { depth: undefined }],
    ['a depth in a string', { depth: '1' }],
    ['a fraction of a depth', { depth: 1.5 }],
    ['a blank instance', { instance: ' ' }],
    ['an instance that is too long', { instance: 'x'.repeat(129) }],
    ['an instance that is not a string', { instance: null }],
    ['an act that is a list', { act: [] }],
    ['an act that is null', { act: null }],
  ];
  for (const [what, change] of wrong) {
    it(`is malformed with ${what}, at any level`, () => {
      expect(readActorChain(chain([1], () => change))).to.equal(undefined);
      for (const level of [1, 2, 3]) {
        const changed = chain([3, 2, 1], (depth) => (depth === level ? change : {}));
        expect(readActorChain(changed)).to.equal(undefined);
      }
    });
  }

  for (const value of [null, 'agent:triage', 1, [], {}] as const) {
    it(`cannot be ${JSON.stringify(value)}`, () => expect(readActorChain(value)).to.equal(undefined));
  }

  it('keeps only the members of an actor', () => {
    const actor = readActorChain({ sub: 'agent:triage', depth: 1, scope: 'everything', __proto__: null });
    expect(actor).to.deep.equal({ sub: 'agent:triage', depth: 1 });
  });
});
