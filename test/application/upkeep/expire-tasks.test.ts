import { expect } from 'chai';
import { expireTasks } from '../../../application/upkeep/expire-tasks.ts';
import { movedClock } from '../../support/moved-clock.ts';

/** Batches of a storage in which so many tasks are due. */
function due(count: number) {
  const batches: number[] = [];
  let left = count;
  const expire = async (_now: unknown, limit: number) => {
    const swept = Math.min(left, limit);
    left -= swept;
    batches.push(swept);
    return swept;
  };
  return { batches, service: { sweeping: { expire }, clock: movedClock(), batchSize: 20 } };
}

describe('a pass over tasks whose time is up', () => {
  for (const [count, batches] of [
    [0, [0]],
    [19, [19]],
    [20, [20, 0]],
    [45, [20, 20, 5]],
  ] as const) {
    it(`takes ${count} in batches of twenty, and ends with one that is not full`, async () => {
      const storage = due(count);
      expect(await expireTasks(storage.service)).to.equal(count);
      expect(storage.batches).to.deep.equal(batches);
    });
  }

  it('stops between two batches when it is told to', async () => {
    const storage = due(1000);
    expect(await expireTasks(storage.service, () => storage.batches.length < 3)).to.equal(60);
  });

  it('ends even where tasks expire as fast as they are swept', async () => {
    const storage = due(Number.POSITIVE_INFINITY);
    await expireTasks(storage.service);
    expect(storage.batches).to.have.length(5000);
  });

  it('asks as of each batch’s time', async () => {
    const clock = movedClock();
    const times: number[] = [];
    const expire = async (now: number) => {
      times.push(now);
      clock.advance(30);
      return times.length < 3 ? 20 : 0;
    };
    await expireTasks({ sweeping: { expire }, clock, batchSize: 20 });
    expect(times.map((time) => Math.round((time - (times[0] ?? 0)) / 1e6))).to.deep.equal([0, 30, 60]);
  });
});
