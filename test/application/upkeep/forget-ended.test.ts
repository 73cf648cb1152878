import { expect } from 'chai';
import type { Sweeping } from '../../../application/ports/sweeping.ts';
import { forgetEnded } from '../../../application/upkeep/forget-ended.ts';
import { secondsBetween } from '../../../domain/instant.ts';
import { movedClock } from '../../support/moved-clock.ts';

const WEEK = 7 * 24 * 3600;

/** A storage that answers these counts in turn, then 0. */
function answering(deleted: readonly number[], forgotten: readonly number[]) {
  const clock = movedClock();
  const calls: unknown[][] = [];
  const [toDelete, toForget] = [[...deleted], [...forgotten]];
  const ago = (instant: Parameters<typeof secondsBetween>[0]) => Math.round(secondsBetween(instant, clock.now()));
  const sweeping: Pick<Sweeping, 'deleteEnded' | 'forget'> = {
    async deleteEnded({ endedBy, expiredBy }, limit) {
      calls.push(['delete', ago(endedBy), ago(expiredBy), limit]);
      return toDelete.shift() ?? 0;
    },
    async forget(until, limit) {
      calls.push(['forget', ago(until), limit]);
      return toForget.shift() ?? 0;
    },
  };
  return { calls, service: { sweeping, clock, retention: WEEK } };
}

describe('a pass over what need not be kept', () => {
  it('deletes what ended a retention period ago, and forgets what no instance’s clock would let pass any more', async () => {
    const storage = answering([], []);
    await forgetEnded(storage.service);
    expect(storage.calls).to.deep.equal([
      ['delete', WEEK, 60, 200],
      ['forget', 60, 200],
    ]);
  });

  it('goes on until a batch is empty: a small one may have made way for more', async () => {
    const storage = answering([200, 3, 1], [600, 2]);
    await forgetEnded(storage.service);
    expect(storage.calls.map(([what]) => what)).to.deep.equal([
      ...['delete', 'delete', 'delete', 'delete'],
      ...['forget', 'forget', 'forget'],
    ]);
  });

  it('stops between two batches when it is told to', async () => {
    const storage = answering([1, 1, 1, 1], [1]);
    await forgetEnded(storage.service, () => storage.calls.length < 2);
    expect(storage.calls).to.have.length(2);
  });

  it('ends even where there is ever more to forget', async () => {
    const endless = Array.from({ length: 5000 }, () => 1);
    const storage = answering(endless, endless);
    await forgetEnded(storage.service);
    expect(storage.calls).to.have.length(4000);
  });
});
