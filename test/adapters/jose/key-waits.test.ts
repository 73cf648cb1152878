/** How long callers wait for a host of keys that is slow in different ways, and what a caller that leaves still holds. */

import { expect } from 'chai';
import { type Fetch, fetchedKeys } from '../../../adapters/jose/fetched-keys.ts';
import { type KeyWaits, manyWait, strangersWait } from '../../../adapters/jose/key-waits.ts';
import { concurrencyLimiter, type Permit } from '../../../domain/concurrency-limiter.ts';
import { movedClock } from '../../support/moved-clock.ts';

/** As `adapters/jose/published-keys.ts`: a request that has no answer by then has ended. */
const LIMIT_SECONDS = 5;
const AGES = { refreshAfter: 300, waitAfter: 900 };

/** A host that answers each request after the next of these times, in seconds, over and over. */
function slowHost(times: readonly number[]) {
  const clock = movedClock();
  clock.standStill();
  const running: { readonly endsAt: number; readonly end: () => void }[] = [];
  let second = 0;
  let fetches = 0;
  const published = fetchedKeys<string>(
    () => {
      const after = times[fetches % times.length] ?? 0;
      fetches += 1;
      const result: Fetch<string> =
        after < LIMIT_SECONDS ? { kind: 'fetched', keys: `set ${fetches}` } : { kind: 'failed', timedOut: true };
      const endsAt = second + Math.min(after, LIMIT_SECONDS);
      return new Promise<Fetch<string>>((resolve) => running.push({ endsAt, end: () => resolve(result) }));
    },
    clock,
    AGES,
  );
  return {
    published,
    fetches: () => fetches,
    /** A second passes. */
    async pass() {
      clock.advance(1);
      second += 1;
      for (const one of running.filter(({ endsAt }) => endsAt === second)) one.end();
      await new Promise(setImmediate);
    },
  };
}

/** A caller a second asks for ten minutes. Resolves with the seconds in which one waited, and how many had no answer. */
async function tenMinutes(host: ReturnType<typeof slowHost>, among: KeyWaits) {
  let [waited, unanswered] = [0, 0];
  for (let second = 0; second < 600; second += 1) {
    void host.published.again(undefined, { among, permit: undefined }).then(({ kind }) => {
      if (kind === 'failed') unanswered += 1;
    });
    await new Promise(setImmediate);
    if (among.waiting > 0) waited += 1;
    await host.pass();
  }
  return { waited, unanswered };
}

describe('Callers that wait for keys', () => {
  it('wait five seconds in ten minutes for a host that answers each request after 29 s, and it is asked on', async () => {
    for (const [among, most] of [
      [strangersWait(), 1],
      [manyWait(), 5],
    ] as const) {
      const host = slowHost([29]);
      const first = host.published.current(undefined, { among, permit: undefined });
      for (let second = 0; second < 3; second += 1) {
        void host.published.current(undefined, { among, permit: undefined });
        await host.pass();
      }
      expect(among.waiting).to.be.at.most(most);
      for (let second = 3; second < LIMIT_SECONDS; second += 1) await host.pass();
      expect([(await first).keys, among.waiting]).to.deep.equal([undefined, 0]);
      expect(await tenMinutes(host, among)).to.deep.equal({ waited: 0, unanswered: 600 });
      // Five seconds each, with pauses of 1 s, 2 s and then 4 s between them.
      expect(host.fetches()).to.equal(68);
    }
  });

  it('wait only for the slow fetches of a host that alternates, and get its keys', async () => {
    const host = slowHost([1, 29, 1, 4]);
    const among = strangersWait();
    void host.published.current(undefined, { among, permit: undefined });
    expect(await tenMinutes(host, among)).to.deep.equal({ waited: 66, unanswered: 68 });
    expect((await host.published.current(undefined, { among, permit: undefined })).keys).to.match(/^set /);
    expect(among.waiting).to.be.at.most(1);
  });

  it('are not kept out by a stranger who takes the one place of their address again and again', async () => {
    const host = slowHost([4]);
    const among = strangersWait();
    const stranger = () => void host.published.current(undefined, { among, permit: undefined });
    stranger();
    let tries = 0;
    let keys: string | undefined;
    // The agent obeys `Retry-After: 1`.
    while (keys === undefined && tries < 10) {
      tries += 1;
      ({ keys } = await host.published.current(undefined, { among, permit: undefined }));
      await host.pass();
      stranger();
    }
    expect([keys, tries]).to.deep.equal(['set 1', 5]);
  });

  it('hold neither a permit nor a place once the fetch has ended, if their clients left: a thousand of each kind', async () => {
    for (const among of [strangersWait(), manyWait()]) {
      const limiter = concurrencyLimiter({ concurrency: 3, queue: 0, waitMs: 1000 }, () => 0);
      const host = slowHost([2]);
      const asked: Promise<unknown>[] = [];
      for (let nth = 0; nth < 1000; nth += 1) {
        let permit: Permit | undefined;
        limiter.acquire((given) => {
          permit = given;
        });
        if (permit === undefined) throw new Error('a caller that waits has kept its permit');
        asked.push(host.published.current(undefined, { among, permit }));
        permit.release();
      }
      expect([limiter.busy, limiter.waiting]).to.deep.equal([0, 0]);
      for (let second = 0; second < 2; second += 1) await host.pass();
      await Promise.all(asked);
      expect([limiter.busy, limiter.waiting, among.waiting]).to.deep.equal([0, 0, 0]);
    }
  });
});
