import { expect } from 'chai';
import { fetchedKeys } from '../../../adapters/jose/fetched-keys.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';

/** A place to fetch from whose every answer the test gives by hand. */
function source() {
  const waiting: ((keys: string | undefined) => void)[] = [];
  let fetches = 0;
  return {
    fetch: () => {
      fetches += 1;
      return new Promise<string | undefined>((resolve) => waiting.push(resolve));
    },
    fetches: () => fetches,
    /** Answers all fetches under way, and lets everything that follows from it happen. */
    async answer(keys: string | undefined): Promise<void> {
      for (const resolve of waiting.splice(0)) resolve(keys);
      await new Promise(setImmediate);
    },
  };
}

describe('when the keys of others are fetched', () => {
  let clock: MovedClock;
  let from: ReturnType<typeof source>;
  beforeEach(() => {
    clock = movedClock();
    clock.standStill();
    from = source();
  });
  const make = () => fetchedKeys(from.fetch, clock, { refreshAfter: 300, waitAfter: 900 });

  /** Keys that were fetched just now. */
  async function holding(keys: string) {
    const published = make();
    const first = published.current();
    await from.answer(keys);
    await first;
    return published;
  }

  it('all who need them first share one fetch', async () => {
    const published = make();
    const asked = [published.current(), published.current(), published.current(), published.refreshIfDue()];
    await from.answer('first');
    expect((await Promise.all(asked)).slice(0, 3)).to.deep.equal(Array(3).fill({ keys: 'first', fresh: true }));
    expect(await published.current()).to.deep.equal({ keys: 'first', fresh: false });
    expect(from.fetches()).to.equal(1);
  });

  it('after a failed first fetch there are none at once for a second, then it is tried again', async () => {
    const published = make();
    const first = published.current();
    await from.answer(undefined);
    expect(await first).to.deep.equal({ keys: undefined, fresh: true });
    for (let time = 0; time < 5; time += 1) {
      expect(await published.current()).to.deep.equal({ keys: undefined, fresh: false });
      await published.refreshIfDue();
    }
    expect(from.fetches()).to.equal(1);
    clock.advance(1);
    const second = published.current();
    await from.answer('second');
    expect(await second).to.deep.equal({ keys: 'second', fresh: true });
  });

  it('keys that have got old are fetched anew in the background, while the old ones are used', async () => {
    const published = await holding('old');
    clock.advance(299);
    expect(await published.current()).to.deep.equal({ keys: 'old', fresh: false });
    expect(from.fetches()).to.equal(1);
    clock.advance(1);
    expect(await published.current()).to.deep.equal({ keys: 'old', fresh: false });
    expect(published.held()).to.equal('old');
    expect(from.fetches()).to.equal(2);
    await from.answer('new');
    expect(await published.current()).to.deep.equal({ keys: 'new', fresh: false });
    expect(published.held()).to.equal('new');
  });

  it('keys that nobody asked for in a long time are not used before that was tried', async () => {
    const published = await holding('old');
    clock.advance(900);
    const asked = [published.current(), published.current()];
    await from.answer('new');
    expect(await Promise.all(asked)).to.deep.equal(Array(2).fill({ keys: 'new', fresh: true }));
    expect(from.fetches()).to.equal(2);
  });

  it('a failed fetch keeps the last good ones, and nobody waits for the next thirty seconds', async () => {
    const published = await holding('old');
    clock.advance(900);
    const asked = published.current();
    await from.answer(undefined);
    expect(await asked).to.deep.equal({ keys: 'old', fresh: true });
    clock.advance(29);
    expect(await published.current()).to.deep.equal({ keys: 'old', fresh: false });
    expect(from.fetches()).to.equal(2);
    clock.advance(1);
    void published.current();
    expect(from.fetches()).to.equal(3);
  });

  it('they are looked for again at once when they did not do, but once in thirty seconds, failed or not', async () => {
    const published = await holding('old');
    const again = published.again();
    await from.answer('new');
    expect(await again).to.equal('new');
    expect(await published.again()).to.equal(undefined);
    clock.advance(29);
    expect(await published.again()).to.equal(undefined);
    clock.advance(1);
    const failing = published.again();
    await from.answer(undefined);
    expect(await failing).to.equal(undefined);
    expect(await published.again()).to.equal(undefined);
    expect(published.held()).to.equal('new');
    expect(from.fetches()).to.equal(3);
  });

  it('all who look again share one fetch, also one that was under way already', async () => {
    const published = await holding('old');
    clock.advance(300);
    void published.held();
    const asked = [published.again(), published.again()];
    await from.answer('new');
    expect(await Promise.all(asked)).to.deep.equal(['new', 'new']);
    expect(from.fetches()).to.equal(2);
  });

  it('a clock that is put back makes keys old rather than young for ever', async () => {
    const published = await holding('old');
    clock.advance(-10_000);
    void published.held();
    expect(from.fetches()).to.equal(2);
  });

  it('the time of the last success is when it was asked for, and a failure does not change it', async () => {
    const published = make();
    const before = clock.now();
    const first = published.current();
    const asked = clock.now();
    clock.advance(4);
    await from.answer('keys');
    await first;
    const at = published.lastFetchedAt();
    expect(at).to.be.within(before, asked);
    clock.advance(300);
    void published.held();
    await from.answer(undefined);
    expect(published.lastFetchedAt()).to.equal(at);
    expect(make().lastFetchedAt()).to.equal(undefined);
  });
});
