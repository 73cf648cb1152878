import { expect } from 'chai';
import { methodsOf, type Remote, remote, shapeOf } from '../../../../../adapters/storage/sqlite/thread/remote.ts';

const part = {
  name: 'part',
  limit: 7,
  ask: async (what: string) => `asked ${what}`,
  inner: { ask: async (first: number, second: number) => first + second },
};

describe('ports asked from another thread', () => {
  it('have every method and datum of those they stand for, and nothing else', async () => {
    const asked: unknown[] = [];
    const shape = structuredClone(shapeOf(part));
    const there: Remote<typeof part> = remote(shape, async (name, given) => {
      asked.push(name);
      return methodsOf(part).get(name)?.(...given);
    });
    expect(there).to.have.all.keys('name', 'limit', 'ask', 'inner');
    expect([there.name, there.limit]).to.deep.equal(['part', 7]);
    const { ask } = there;
    expect(await ask('this')).to.equal('asked this');
    expect(await there.inner.ask(3, 4)).to.equal(7);
    expect(asked).to.deep.equal(['ask', 'inner.ask']);
  });

  it('serve own methods only', () => {
    expect([...methodsOf(part).keys()]).to.deep.equal(['ask', 'inner.ask']);
  });

  it('have a type that nothing fits where a method answers at once, or is given a function', () => {
    type Bad = { now(): number; later(then: () => void): Promise<void>; maybe(then?: () => void): Promise<void> };
    const given = { now: () => 1, later: async () => undefined, maybe: async () => undefined };
    // @ts-expect-error: it could not answer at once
    const now: Remote<Bad>['now'] = given.now;
    // @ts-expect-error: a function stays where it is
    const later: Remote<Bad>['later'] = given.later;
    // @ts-expect-error: nor may one be left out
    const maybe: Remote<Bad>['maybe'] = given.maybe;
    expect([now, later, maybe]).to.have.length(3);
  });
});
