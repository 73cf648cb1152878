import { expect } from 'chai';
import { type Fetch, fetchedKeys } from '../../../adapters/jose/fetched-keys.ts';
import { keyAddress, manyWait, strangersWait } from '../../../adapters/jose/key-waits.ts';
import { concurrencyLimiter, type Permit } from '../../../domain/concurrency-limiter.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';

/** A source of keys whose fetches the test answers. */
function source() {
  const waiting: ((result: Fetch<string>) => void)[] = [];
  let fetches = 0;
  /** Answers all running fetches, and waits until their callers have continued. */
  const settle = async (result: Fetch<string>): Promise<void> => {
    for (const resolve of waiting.splice(0)) resolve(result);
    await new Promise(setImmediate);
  };
  return {
    fetch: () => {
      fetches += 1;
      return new Promise<Fetch<string>>((resolve) => waiting.push(resolve));
    },
    fetches: () => fetches,
    answer: (keys: string) => settle({ kind: 'fetched', keys }),
    fail: (retryAfter?: number) => settle({ kind: 'failed', retryAfter }),
    timeOut: () => settle({ kind: 'failed', timedOut: true }),
  };
}

const TOO_EARLY = { kind: 'too_early' };
const FAILED = { kind: 'failed' };
const ABSENT = { keys: undefined, fresh: false };
const fetched = (keys: string) => ({ kind: 'fetched', keys });
const joined = (keys: string) => ({ kind: 'joined', keys });

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

  it('let one of several unauthenticated callers wait for an address, and others wait together; cached keys need no wait', async () => {
    const [published, strangers, many] = [await holding('first'), strangersWait(), manyWait()];
    const waiter = { among: strangers, permit: undefined };
    const waiting = published.again(undefined, waiter);
    for (let time = 0; time < 3; time += 1) expect(await published.again(undefined, waiter)).to.deep.equal(FAILED);
    expect(await published.current(undefined, waiter)).to.deep.equal({ keys: 'first', fresh: false });
    const others = Array.from({ length: 5 }, () => published.again(undefined, { among: many, permit: undefined }));
    expect([strangers.waiting, many.waiting]).to.deep.equal([1, 5]);
    await from.answer('second');
    expect(await Promise.all([waiting, ...others])).to.deep.equal([
      fetched('second'),
      ...Array(5).fill(joined('second')),
    ]);
    expect([from.fetches(), strangers.waiting, many.waiting]).to.deep.equal([2, 0, 0]);
    clock.advance(901);
    const first = published.current(undefined, waiter);
    expect(await published.current(undefined, waiter)).to.deep.equal({ keys: undefined, fresh: false });
    await from.answer('third');
    expect((await first).keys).to.equal('third');
  });

  it('let at most four unauthenticated callers of an endpoint wait, for four addresses', async () => {
    const among = strangersWait();
    const published = Array.from({ length: 5 }, make);
    const asked = published.map((keys) => keys.current(undefined, { among, permit: undefined }));
    expect(among.waiting).to.equal(4);
    await from.answer('keys');
    const found = (await Promise.all(asked)).map(({ keys }) => keys);
    expect(found).to.deep.equal([...Array(4).fill('keys'), undefined]);
    expect(among.waiting).to.equal(0);
  });

  it('count a look-up towards the limit of thirty seconds also if its caller could not wait', async () => {
    const [published, among] = [await holding('old'), strangersWait()];
    const elsewhere = Array.from({ length: 4 }, () => make().current(undefined, { among, permit: undefined }));
    const refused = published.again(undefined, { among, permit: undefined });
    expect(await refused).to.deep.equal(FAILED);
    await from.answer('new');
    await Promise.all(elsewhere);
    expect(await published.again(undefined, { among, permit: undefined })).to.deep.equal(TOO_EARLY);
  });

  it('pause the permit of a caller while it waits, however the fetch ends', async () => {
    const limiter = concurrencyLimiter({ concurrency: 1, queue: 0, waitMs: 1000 }, () => 0);
    let held: Permit | undefined;
    limiter.acquire((permit) => {
      held = permit;
    });
    const published = await holding('old');
    for (const end of [() => from.answer('new'), () => from.fail()]) {
      clock.advance(31);
      const asked = published.again(undefined, { among: strangersWait(), permit: held });
      expect(limiter.busy).to.equal(0);
      await end();
      await asked;
      expect(limiter.busy).to.equal(1);
    }
  });

  it('let no caller wait for an address for thirty seconds after a fetch ended at its time limit, and fetch meanwhile', async () => {
    const address = keyAddress();
    const [published, shared] = [address, address].map((of) =>
      fetchedKeys(from.fetch, clock, { refreshAfter: 300, waitAfter: 900 }, of),
    );
    const waiter = () => ({ among: strangersWait(), permit: undefined });
    const first = published?.current(undefined, waiter());
    clock.advance(5);
    await from.timeOut();
    expect(await first).to.deep.equal({ keys: undefined, fresh: false });
    for (const seconds of [0, 0.5, 0.5, 28]) {
      clock.advance(seconds);
      const among = strangersWait();
      expect(await published?.current(undefined, { among, permit: undefined })).to.deep.equal(ABSENT);
      expect(await shared?.current(undefined, { among, permit: undefined }), 'the same address').to.deep.equal(ABSENT);
      expect(among.waiting).to.equal(0);
    }
    // One of each cache, in the background, after a pause of a second.
    expect(from.fetches()).to.equal(3);
    clock.advance(0.9);
    expect(await published?.again(undefined, waiter())).to.deep.equal(FAILED);
    clock.advance(0.1);
    const after = published?.current(undefined, waiter());
    await from.answer('keys');
    expect(await after).to.deep.equal({ keys: 'keys', fresh: true });
  });

  it('are there as soon as a fetch in the background succeeds, within the thirty seconds', async () => {
    const published = make();
    const waiter = () => ({ among: strangersWait(), permit: undefined });
    const first = published.current(undefined, waiter());
    await from.timeOut();
    await first;
    clock.advance(1);
    expect(await published.current(undefined, waiter())).to.deep.equal(ABSENT);
    await from.answer('keys');
    expect(await published.current(undefined, waiter())).to.deep.equal({ keys: 'keys', fresh: false });
    const again = published.again(undefined, waiter());
    await from.answer('newer');
    expect(await again).to.deep.equal(fetched('newer'));
  });

  it('are undefined after a failed first fetch, and fetched again after 1 s, 2 s and then every 4 s', async () => {
    const published = make();
    const first = published.current();
    await from.fail();
    expect(await first).to.deep.equal({ keys: undefined, fresh: false });
    let fetches = 1;
    for (const pause of [1, 2, 4, 4]) {
      clock.advance(pause - 0.1);
      expect(await published.current()).to.deep.equal({ keys: undefined, fresh: false });
      await published.refreshIfDue();
      expect(from.fetches(), `${pause} s`).to.equal(fetches);
      clock.advance(0.1);
      const next = published.current();
      fetches += 1;
      expect(from.fetches(), `${pause} s`).to.equal(fetches);
      await from.fail();
      await next;
    }
    clock.advance(4);
    const last = published.current();
    await from.answer('keys');
    expect(await last).to.deep.equal({ keys: 'keys', fresh: true });
  });

  it('are fetched no earlier than the Retry-After of a failed fetch, from the first fetch on', async () => {
    const published = make();
    const first = published.current();
    await from.fail(20);
    await first;
    clock.advance(19);
    expect(await published.current()).to.deep.equal({ keys: undefined, fresh: false });
    clock.advance(1);
    const second = published.current();
    await from.answer('old');
    expect(await second).to.deep.equal({ keys: 'old', fresh: true });
    const failing = published.again();
    await from.fail(20);
    await failing;
    clock.advance(19);
    expect(await published.again()).to.deep.equal(FAILED);
    expect(from.fetches()).to.equal(3);
    clock.advance(1);
    const renewed = published.again();
    await from.answer('new');
    expect(await renewed).to.deep.equal(fetched('new'));
  });

  it('are fetched after five minutes if a Retry-After is longer, and after the usual pause if it is shorter', async () => {
    const published = make();
    const first = published.current();
    await from.fail(366 * 86_400);
    await first;
    clock.advance(299);
    await published.current();
    expect(from.fetches()).to.equal(1);
    clock.advance(1);
    const second = published.current();
    await from.fail(0);
    await second;
    clock.advance(1.9);
    await published.current();
    expect(from.fetches()).to.equal(2);
    clock.advance(0.1);
    void published.current();
    expect(from.fetches()).to.equal(3);
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

  it('are kept after a failed fetch, and fetched again in the background after a pause that doubles to 30 s', async () => {
    const published = await holding('old');
    clock.advance(900);
    const asked = published.current();
    await from.fail();
    expect(await asked).to.deep.equal({ keys: 'old', fresh: false });
    let fetches = 2;
    for (const pause of [1, 2, 4, 8, 16, 30, 30]) {
      clock.advance(pause - 0.1);
      expect(await published.current()).to.deep.equal({ keys: 'old', fresh: false });
      expect(from.fetches(), `${pause} s`).to.equal(fetches);
      clock.advance(0.1);
      void published.held();
      fetches += 1;
      expect(from.fetches(), `${pause} s`).to.equal(fetches);
      await from.fail();
    }
    clock.advance(30);
    void published.refreshIfDue();
    await from.answer('new');
    expect(await published.current()).to.deep.equal({ keys: 'new', fresh: false });
  });

  it('are fetched by again() at once, but at most once in thirty seconds while that brings no missing key', async () => {
    const published = await holding('old');
    const again = published.again();
    await from.answer('new');
    expect(await again).to.deep.equal(fetched('new'));
    expect(await published.again()).to.deep.equal(TOO_EARLY);
    clock.advance(29);
    expect(await published.again()).to.deep.equal(TOO_EARLY);
    clock.advance(1);
    const second = published.again();
    await from.answer('newer');
    expect(await second).to.deep.equal(fetched('newer'));
    published.brought();
    const third = published.again();
    await from.answer('newest');
    expect(await third).to.deep.equal(fetched('newest'));
    expect(from.fetches()).to.equal(4);
  });

  it('are fetched by again() after 1 s, 2 s and then every 4 s while that fails', async () => {
    const published = await holding('old');
    let fetches = 1;
    for (const pause of [1, 2, 4, 4]) {
      const failing = published.again();
      await from.fail();
      expect(await failing).to.deep.equal(FAILED);
      fetches += 1;
      clock.advance(pause - 0.1);
      expect(await published.again()).to.deep.equal(FAILED);
      expect(from.fetches(), `${pause} s`).to.equal(fetches);
      expect(published.held()).to.equal('old');
      clock.advance(0.1);
    }
    const last = published.again();
    await from.answer('new');
    expect(await last).to.deep.equal(fetched('new'));
    expect(await published.again()).to.deep.equal(TOO_EARLY);
  });

  it('are fetched again by themselves after again() failed', async () => {
    const published = await holding('old');
    const failing = published.again();
    await from.fail();
    await failing;
    clock.advance(1);
    void published.refreshIfDue();
    await from.answer('new');
    expect(published.held()).to.equal('new');
  });

  it('are fetched once for concurrent calls of again(), also by a fetch that is already under way', async () => {
    const published = await holding('old');
    clock.advance(300);
    void published.held();
    const asked = [published.again(), published.again()];
    await from.answer('new');
    expect(await Promise.all(asked)).to.deep.equal([joined('new'), joined('new')]);
    expect(from.fetches()).to.equal(2);
    const again = [published.again(), published.again()];
    await from.answer('newer');
    expect(await Promise.all(again)).to.deep.equal([fetched('newer'), joined('newer')]);
    expect(from.fetches()).to.equal(3);
  });

  it('are fetched by again() a pause after the end of a failed fetch, but no earlier than its Retry-After', async () => {
    const published = await holding('old');
    for (const [nth, pause] of [1, 2, 4, 7].entries()) {
      const failing = published.again();
      expect(from.fetches()).to.equal(nth + 2);
      clock.advance(4.9);
      await from.fail(nth === 3 ? 7 : 0);
      expect(await failing).to.deep.equal(FAILED);
      clock.advance(pause - 0.1);
      expect(await published.again()).to.deep.equal(FAILED);
      expect(from.fetches()).to.equal(nth + 2);
      clock.advance(0.1);
    }
    void published.again();
    expect(from.fetches()).to.equal(6);
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
    await from.fail();
    expect(published.lastFetchedAt()).to.equal(at);
    expect(make().lastFetchedAt()).to.equal(undefined);
  });
});
