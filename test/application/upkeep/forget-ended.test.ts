import { expect } from 'chai';
import type { EndedTasks } from '../../../application/decisions/sweep.ts';
import type { Decisions } from '../../../application/ports/decisions.ts';
import type { Sweeping } from '../../../application/ports/storage.ts';
import { forgetEnded } from '../../../application/upkeep/sweep.ts';
import { secondsBetween } from '../../../domain/instant.ts';
import { movedClock } from '../../support/moved-clock.ts';

const WEEK = 7 * 24 * 3600;

/** A storage that returns these counts in order, and then 0. Each pause between two batches takes ten seconds. */
function answering(deleted: readonly number[], forgotten: readonly number[]) {
  const clock = movedClock();
  const begun = clock.now();
  const calls: unknown[][] = [];
  const [toDelete, toForget] = [[...deleted], [...forgotten]];
  const before = (instant: Parameters<typeof secondsBetween>[0]) => Math.round(secondsBetween(instant, begun));
  const decisions: Decisions = {
    async decide(_decision, input) {
      const { endedBy, limit } = input as EndedTasks;
      calls.push(['delete', before(endedBy), limit]);
      return (toDelete.shift() ?? 0) as never;
    },
  };
  const sweeping: Sweeping = {
    async forget(until, limit) {
      calls.push(['forget', before(until), limit]);
      return toForget.shift() ?? 0;
    },
    async eraseReasons(until, limit) {
      calls.push(['erase', before(until), limit]);
      return 0;
    },
  };
  let turns = 0;
  const turn = async () => {
    turns += 1;
    clock.advance(10);
  };
  return { calls, turns: () => turns, service: { decisions, sweeping, endingTime: begun, turn, retention: WEEK } };
}

describe('forgetEnded', () => {
  it('deletes tasks and erases reasons after their retention, and deletes rows that have expired by every instance’s clock', async () => {
    const storage = answering([], []);
    await forgetEnded(storage.service);
    // An ended task can be deleted once its index in a status list is free.
    expect(storage.calls).to.deep.equal([
      ['forget', 60, 200],
      ['delete', WEEK, 200],
      ['erase', WEEK, 200],
    ]);
  });

  it('continues until a batch is empty, because deleted tasks make their parents deletable, and lets requests run in between', async () => {
    const storage = answering([200, 3, 1], [600, 2]);
    await forgetEnded(storage.service);
    expect(storage.calls.map(([what]) => what)).to.deep.equal([
      ...['forget', 'forget', 'forget'],
      ...['delete', 'delete', 'delete', 'delete'],
      'erase',
    ]);
    expect(storage.turns()).to.equal(5);
  });

  it('deletes only rows that were old enough when the run began, so that the run ends', async () => {
    const storage = answering([200, 200, 200], [200, 200]);
    await forgetEnded(storage.service);
    expect(new Set(storage.calls.map((call) => JSON.stringify(call)))).to.deep.equal(
      new Set(
        [
          ['delete', WEEK, 200],
          ['forget', 60, 200],
          ['erase', WEEK, 200],
        ].map((call) => JSON.stringify(call)),
      ),
    );
  });

  it('stops between two batches when shouldContinue returns false', async () => {
    const storage = answering([1, 1, 1, 1], [1]);
    await forgetEnded(storage.service, () => storage.calls.length < 2);
    expect(storage.calls).to.have.length(2);
  });

  it('deletes all old rows in one run, however many there are', async () => {
    const much = Array.from({ length: 5000 }, () => 200);
    const storage = answering(much, much);
    await forgetEnded(storage.service);
    expect(storage.calls).to.have.length(10_003);
  });
});
