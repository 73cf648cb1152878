import { expect } from 'chai';
import { partitionOf } from '../../adapters/storage/postgres/migrate.ts';
import { partitionUpkeep } from '../../composition/jobs.ts';
import { type Recurring, type RecurringPass, startRecurring } from '../../composition/recurring.ts';
import { type CapturedLog, capturedLog } from '../support/captured-log.ts';
import { connectOutside, freshDatabase } from '../support/databases.ts';
import { movedClock } from '../support/moved-clock.ts';

/** These tests use real, very short timers. */
describe('A recurring job', () => {
  let log: CapturedLog;
  beforeEach(() => {
    log = capturedLog();
  });

  /** Runs the recurring job, and stops it during run number `times`. Returns the number of runs. */
  async function runs(times: number, pass: (time: number) => Promise<void>, more: Partial<RecurringPass> = {}) {
    let time = 0;
    let recurring: Recurring | undefined;
    await new Promise<void>((done) => {
      recurring = startRecurring(
        {
          name: 'counting',
          intervalMs: 1,
          run() {
            time += 1;
            if (time === times) done();
            return pass(time);
          },
          ...more,
        },
        log,
      );
    });
    await recurring?.stop();
    return time;
  }

  it('runs repeatedly, and never concurrently with itself', async () => {
    let atOnce = 0;
    let most = 0;
    const ran = await runs(5, async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await new Promise((resolve) => setTimeout(resolve, 5));
      atOnce -= 1;
    });
    expect([ran, most]).to.deep.equal([5, 1]);
  });

  it('runs again after a failure, and logs consecutive failures once and the recovery once', async () => {
    const fails = [true, true, false, true, false];
    await runs(fails.length + 1, async (time) => {
      if (fails[time - 1]) throw new RangeError('a secret');
    });
    const lines = log.lines.map((line) => JSON.parse(line));
    const expected = ['error', 'info', 'error', 'info'].map((level) => [level, 'counting']);
    expect(lines.map(({ level, pass }) => [level, pass])).to.deep.equal(expected);
  });

  it('runs again after retryMs if a run fails', async () => {
    const fails = async (time: number) => {
      if (time === 1) throw new RangeError('once');
    };
    expect(await runs(2, fails, { intervalMs: 3_600_000, firstAfterMs: 0, retryMs: 1 })).to.equal(2);
  });

  it('runs again after `pass` throws instead of rejecting', async () => {
    const failing = () => {
      throw new TypeError('at once');
    };
    expect(await runs(2, failing)).to.equal(2);
  });

  it('has its first run after firstAfterMs', async () => {
    expect(await runs(1, async () => undefined, { intervalMs: 3_600_000, firstAfterMs: 0 })).to.equal(1);
  });

  it('begins its followers after each run, also after a failed one, and waits for a slow one only when it is stopped', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const ran = { first: 0, slow: 0, ended: false };
    const follower = {
      name: 'first',
      async run() {
        ran.first += 1;
        if (ran.first === 1) throw new RangeError('a secret');
      },
      follower: {
        name: 'slow',
        async run() {
          ran.slow += 1;
          await held;
          ran.ended = true;
        },
      },
    };
    const failing = async (time: number) => {
      if (time < 4) throw new RangeError('fails');
      if (time === 8) setTimeout(release, 10);
    };
    await runs(8, failing, { retryMs: 1, follower });
    expect(ran.first).to.be.at.least(4);
    expect([ran.slow, ran.ended]).to.deep.equal([1, true]);
    const failures = log.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'error');
    expect(failures.map(({ pass }) => pass)).to.deep.equal(['counting', 'first']);
  });

  it('has no run if it is stopped before the first one', async () => {
    let ran = 0;
    const run = async () => {
      ran += 1;
    };
    const recurring = startRecurring({ name: 'never', intervalMs: 1, run }, log);
    await recurring.stop();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(ran).to.equal(0);
  });

  it('can ask during a run whether it is stopped, and the stop waits for the run', async () => {
    const told: boolean[] = [];
    let ended = false;
    let finish = () => {};
    let recurring: Recurring | undefined;
    await new Promise<void>((begun) => {
      const run: RecurringPass['run'] = async (shouldContinue) => {
        told.push(shouldContinue());
        begun();
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        told.push(shouldContinue());
        ended = true;
      };
      recurring = startRecurring({ name: 'long', intervalMs: 1, run }, log);
    });
    const stopped = recurring?.stop().then(() => ended);
    expect(ended).to.equal(false);
    finish();
    expect(await stopped).to.equal(true);
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(told).to.deep.equal([true, false]);
  });
});

const HALF_A_YEAR = 182 * 24 * 3600;

describe('The job that creates partitions', () => {
  it('creates the partitions of the coming months at once, as the serving role', async function () {
    this.timeout(60_000);
    const database = await freshDatabase('postgres');
    const clock = movedClock();
    const storage = await database.open({ clock });
    clock.advance(HALF_A_YEAR);
    const entry = { at: clock.now(), event: 'token.denied', decision: 'deny', reason: 'invalid_request' } as const;
    const partition = `select to_regclass('${partitionOf(clock.now())}') is not null as there`;
    // A request or a readiness check would also begin to create it.
    const outside = await connectOutside(database);
    expect(await outside.sql(partition)).to.deep.equal([{ there: false }]);
    await outside.close();

    let upkeep: Recurring | undefined;
    await new Promise<void>((created) => {
      const watched = {
        createPartitions: (...given: Parameters<typeof storage.createPartitions>) =>
          storage.createPartitions(...given).then(created),
      };
      upkeep = startRecurring(partitionUpkeep(watched, clock, 2), capturedLog());
    });
    await upkeep?.stop();
    await storage.ledger.append(entry);
    expect((await storage.readiness.check()).status).to.equal('Healthy');
    await storage.close();
    await database.drop();
  });
});
