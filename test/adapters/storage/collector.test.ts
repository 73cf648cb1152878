import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { type CollectorOptions, collector } from '../../../adapters/storage/collector.ts';

describe('a collector of decisions', () => {
  /** The batches in the order in which they began. */
  let batches: (readonly string[])[];
  /** Ends the batch of this number. */
  let finish: (() => void)[];
  beforeEach(() => {
    batches = [];
    finish = [];
  });

  const collecting = (options: Partial<CollectorOptions<string>> = {}) =>
    collector<string>({
      size: 3,
      underWay: 1,
      perform: (batch) =>
        new Promise((resolve) => {
          batches.push(batch);
          finish.push(resolve);
        }),
      ...options,
    });
  const end = async (nth: number) => {
    finish[nth]?.();
    await nextTurn();
    await nextTurn();
  };
  const submitAll = async (to: { submit(item: string): void }, items: string) => {
    for (const item of items) to.submit(item);
    await nextTurn();
  };

  it('makes one batch of what has come by the end of a turn of the event loop', async () => {
    const collected = collecting();
    collected.submit('a');
    await Promise.resolve();
    collected.submit('b');
    expect(batches).to.deep.equal([]);
    await nextTurn();
    expect(batches).to.deep.equal([['a', 'b']]);
  });

  it('makes one batch, of limited size, of what has come while the batch before was under way', async () => {
    const collected = collecting();
    await submitAll(collected, 'a');
    await submitAll(collected, 'bc');
    await submitAll(collected, 'de');
    expect(batches).to.deep.equal([['a']]);
    expect(collected.waiting()).to.equal(4);
    await end(0);
    expect(batches).to.deep.equal([['a'], ['b', 'c', 'd']]);
    await end(1);
    expect(batches).to.deep.equal([['a'], ['b', 'c', 'd'], ['e']]);
    expect(collected.waiting()).to.equal(0);
  });

  it('has as many batches under way as it may, and begins the next one when any of them ends', async () => {
    const collected = collecting({ underWay: 2 });
    await submitAll(collected, 'abcdefg');
    await submitAll(collected, 'h');
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['abc', 'def']);
    await end(1);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['abc', 'def', 'gh']);
  });

  it('leaves an item that may not join for a later batch, and keeps the order of the others', async () => {
    const collected = collecting({ mayJoin: (batch, item) => !batch.includes(item) });
    await submitAll(collected, 'aabacd');
    await end(0);
    await end(1);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['abc', 'ad', 'a']);
  });

  it('lets a batch take an item whatever it may join, as long as the batch is empty', async () => {
    const collected = collecting({ mayJoin: () => false });
    await submitAll(collected, 'ab');
    await end(0);
    expect(batches).to.deep.equal([['a'], ['b']]);
  });

  it('is drained once the last batch has ended, and at once if there is none', async () => {
    const collected = collecting({ size: 1 });
    await collected.drained();
    collected.submit('a');
    collected.submit('b');
    let isDrained = false;
    const drained = collected.drained().then(() => {
      isDrained = true;
    });
    await nextTurn();
    await end(0);
    expect(isDrained).to.equal(false);
    await end(1);
    await drained;
    expect(batches).to.deep.equal([['a'], ['b']]);
  });
});
