import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { type CollectorOptions, collector } from '../../../adapters/storage/collector.ts';

describe('The collector of decisions', () => {
  /** The batches in the order in which they began. */
  let batches: (readonly string[])[];
  /** For each of these batches the function that ends it. */
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

  it('makes one batch of the items of an event loop turn', async () => {
    const collected = collecting();
    collected.submit('a');
    await Promise.resolve();
    collected.submit('b');
    expect(batches).to.deep.equal([]);
    await nextTurn();
    expect(batches).to.deep.equal([['a', 'b']]);
  });

  it('makes one batch of limited size of the items that arrived during the previous batch', async () => {
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

  it('runs up to underWay batches at the same time, and begins another when one of them ends', async () => {
    const collected = collecting({ underWay: 2 });
    await submitAll(collected, 'abcdefg');
    await submitAll(collected, 'h');
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['abc', 'def']);
    await end(1);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['abc', 'def', 'gh']);
  });

  it('begins a batch of enough items within the turn, and another as soon as one ends', async () => {
    const collected = collecting({ size: 4, underWay: 2, atOnce: 2 });
    for (const item of 'abcdefg') collected.submit(item);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['ab', 'cd']);
    finish[0]?.();
    await Promise.resolve();
    await Promise.resolve();
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['ab', 'cd', 'efg']);
    await submitAll(collected, 'h');
    await end(1);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['ab', 'cd', 'efg', 'h']);
    await end(2);
    await end(3);
    await collected.drained();
    expect(collected.waiting()).to.equal(0);
  });

  it('leaves fewer items to the end of the turn', async () => {
    const collected = collecting({ size: 4, atOnce: 3 });
    collected.submit('a');
    collected.submit('b');
    expect(batches).to.deep.equal([]);
    await nextTurn();
    expect(batches).to.deep.equal([['a', 'b']]);
  });

  it('examines items whose keys are in use once, and begins what came behind them', async () => {
    let examined = 0;
    const collected = collecting({
      size: 3,
      underWay: 2,
      atOnce: 2,
      uses: (item) => {
        examined += 1;
        return byLetter(item);
      },
    });
    await submitAll(collected, 'A');
    examined = 0;
    for (const item of 'AAAAAA') collected.submit(item);
    // Once as two of them waited, and never for those behind them.
    expect(examined).to.equal(2);
    await submitAll(collected, 'b');
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['A', 'b']);
    await end(0);
    await end(1);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['A', 'b', 'A']);
  });

  /** The key of a letter is its lowercase form. Uppercase letters use it exclusively, lowercase letters share it. */
  const byLetter = (item: string) => [{ key: item.toLowerCase(), exclusive: item === item.toUpperCase() }];

  it('leaves an item for a later batch if its key is in use, and keeps the order of the other items', async () => {
    const collected = collecting({ uses: byLetter });
    await submitAll(collected, 'AABACD');
    await end(0);
    await end(1);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['ABC', 'AD', 'A']);
  });

  it('lets items share a key, but none of them with an item that uses it exclusively', async () => {
    const collected = collecting({ uses: byLetter });
    await submitAll(collected, 'aaAb');
    await end(0);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['aab', 'A']);
  });

  it('lets no item pass one that waits for its key exclusively, however many come', async () => {
    const collected = collecting({ size: 2, underWay: 3, uses: byLetter });
    await submitAll(collected, 'a');
    await submitAll(collected, 'A');
    await submitAll(collected, 'ab');
    await submitAll(collected, 'a');
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['a', 'b']);
    await end(0);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['a', 'b', 'A']);
    await end(2);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['a', 'b', 'A', 'aa']);
  });

  it('lets no item pass one that waits for another of its keys', async () => {
    const both = (item: string) => (item === 'x' ? [...byLetter('a'), ...byLetter('B')] : byLetter(item));
    const collected = collecting({ underWay: 3, uses: both });
    await submitAll(collected, 'b');
    await submitAll(collected, 'xAc');
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['b', 'c']);
    await end(0);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['b', 'c', 'x']);
    await end(2);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['b', 'c', 'x', 'A']);
  });

  it('lets items with `inTurn` share a batch, but not run in two batches at once', async () => {
    const collected = collecting({ underWay: 2, uses: (item) => [{ key: item, exclusive: true, inTurn: true }] });
    await submitAll(collected, 'aa');
    await submitAll(collected, 'ab');
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['aa', 'b']);
    await end(0);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['aa', 'b', 'a']);
  });

  it('begins no batch with an item whose key a batch under way uses', async () => {
    const collected = collecting({ uses: byLetter, underWay: 2 });
    await submitAll(collected, 'AB');
    await submitAll(collected, 'AaC');
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['AB', 'C']);
    await end(1);
    expect(collected.waiting()).to.equal(2);
    await end(0);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['AB', 'C', 'A']);
    await end(2);
    expect(batches.map((batch) => batch.join(''))).to.deep.equal(['AB', 'C', 'A', 'a']);
  });

  it('is drained when the last batch has ended, and at once without a batch', async () => {
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
