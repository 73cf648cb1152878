import { setImmediate as immediately } from 'node:timers/promises';
import { expect } from 'chai';
import type { DueTasks } from '../../../application/decisions/sweep.ts';
import type { Decisions } from '../../../application/ports/decisions.ts';
import { expireTasks } from '../../../application/upkeep/sweep.ts';
import { secondsBetween } from '../../../domain/instant.ts';
import { movedClock } from '../../support/moved-clock.ts';

type When = Pick<DueTasks, 'overBy' | 'at'>;

const deciding = (expire: (input: DueTasks) => Promise<number>): Decisions => ({
  decide: async (_decision, input) => (await expire(input as DueTasks)) as never,
});

/** A storage with this many expired tasks, which keeps the batches it gets. */
function due(count: number) {
  const clock = movedClock();
  clock.standStill();
  const batches: number[] = [];
  const asked: When[] = [];
  let turns = 0;
  let left = count;
  const expire = async ({ limit, ...when }: DueTasks) => {
    const swept = Math.min(left, limit);
    left -= swept;
    batches.push(swept);
    asked.push(when);
    return swept;
  };
  const turn = async () => {
    turns += 1;
    clock.advance(30);
  };
  const endingTime = clock.now();
  const service = { decisions: deciding(expire), clock, endingTime, turn, batchSize: 20, clockAheadBy: 60 };
  return { batches, asked, turns: () => turns, service };
}

describe('expireTasks', () => {
  for (const [count, batches] of [
    [0, [0]],
    [19, [19]],
    [20, [20, 0]],
    [45, [20, 20, 5]],
  ] as const) {
    it(`records ${count} expired tasks in batches of twenty until a batch is smaller, and lets requests run in between`, async () => {
      const storage = due(count);
      expect(await expireTasks(storage.service)).to.equal(count);
      expect(storage.batches).to.deep.equal(batches);
      expect(storage.turns()).to.equal(batches.length - 1);
    });
  }

  it('records all expired tasks in one run, however many there are', async () => {
    const storage = due(400_000);
    expect(await expireTasks(storage.service)).to.equal(400_000);
  });

  it('stops between two batches when shouldContinue returns false', async () => {
    const storage = due(1000);
    expect(await expireTasks(storage.service, () => storage.batches.length < 3)).to.equal(60);
  });

  it('selects tasks that had expired by every clock at the time it is given, and dates each batch by the clock', async () => {
    const storage = due(45);
    const begun = storage.service.endingTime;
    await expireTasks(storage.service);
    const since = (when: When) =>
      [secondsBetween(begun, when.overBy), secondsBetween(begun, when.at)].map((seconds) => Math.round(seconds));
    expect(storage.asked.map(since)).to.deep.equal([
      [-60, 0],
      [-60, 30],
      [-60, 60],
    ]);
  });

  it('ends even if tasks expire as fast as it records them', async () => {
    // One task expires every second, and a batch of twenty takes half a minute.
    const { service } = due(0);
    const begun = service.endingTime;
    let swept = 0;
    const expire = async ({ overBy, limit }: DueTasks) => {
      await immediately();
      const batch = Math.min(limit, 100 + Math.floor(secondsBetween(begun, overBy)) - swept);
      swept += batch;
      return batch;
    };
    expect(await expireTasks({ ...service, decisions: deciding(expire), clockAheadBy: 0 })).to.equal(100);
  });
});
