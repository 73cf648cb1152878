import { expect } from 'chai';
import { fetchedKeys } from '../../../adapters/jose/fetched-keys.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';

/** A source of keys whose fetches the test answers. */
function source() {
  const waiting: ((keys: string | undefined) => void)[] = [];
  let fetches = 0;
  return {
    fetch: () => {
      fetches += 1;
      return new Promise<string | undefined>((resolve) => waiting.push(resolve));
    },
    fetches: () => fetches,
    /** Answers all running fetches, and waits until their callers have continued. */
    async answer(keys: string | undefined): Promise<void> {
      for (const resolve of waiting.splice(0)) resolve(keys);
      await new Promise(setImmediate);
    },
  };
}

describe('Fetched keys', () => {
  let clock: MovedClock;
  let from: ReturnType<typeof source>;
  beforeEach(() => {
    clock = movedClock();
    clock.standStill();
    from = source();
  });
  const make = () => fetchedKeys(from.fetch, clock, { refreshAfter: 300, waitAfter: 900 });

  /** Keys after their first fetch. */
  async function holding(keys: string) {
    const published = make();
    const first = published.current();
    await from.answer(keys);
    await first;
    return published;
  }

  it('are fetched once for concurrent first callers', async () => {
    const published = make();
    const asked = [published.current(), published.current(), published.current(), published.refreshIfDue()];
    await from.answer('first');
    expect((await Promise.all(asked)).slice(0, 3)).to.deep.equal(Array(3).fill({ keys: 'first', fresh: true }));
    expect(await published.current()).to.deep.equal({ keys: 'first', fresh: false });
    expect(from.fetches()).to.equal(1);
  });

  it('are undefined for a second after a failed first fetch, and then fetched again', async () => {
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

  it('are fetched again in the background after refreshAfter, and the cached keys are used until then', async () => {
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

  it('are not used after waitAfter until another fetch has been tried', async () => {
    const published = await holding('old');
    clock.advance(900);
    const asked = [published.current(), published.current()];
    await from.answer('new');
    expect(await Promise.all(asked)).to.deep.equal(Array(2).fill({ keys: 'new', fresh: true }));
    expect(from.fetches()).to.equal(2);
  });

  it('are kept after a failed fetch, and used without a wait for thirty seconds', async () => {
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

  it('are fetched by again() at once, but at most once in thirty seconds, also after a failure', async () => {
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

  it('are fetched once for concurrent calls of again(), also by a fetch that is already under way', async () => {
    const published = await holding('old');
    clock.advance(300);
    void published.held();
    const asked = [published.again(), published.again()];
    await from.answer('new');
    expect(await Promise.all(asked)).to.deep.equal(['new', 'new']);
    expect(from.fetches()).to.equal(2);
  });

  it('are fetched again after the clock was moved back', async () => {
    const published = await holding('old');
    clock.advance(-10_000);
    void published.held();
    expect(from.fetches()).to.equal(2);
  });

  it('have the time of their successful request as lastFetchedAt, which a failure does not change', async () => {
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
