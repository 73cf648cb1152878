import { expect } from 'chai';
import { type RecurringPass, startRecurring } from '../../composition/recurring.ts';
import { type CapturedLog, capturedLog } from '../support/captured-log.ts';

/** Timers are real here and as short as they get: nothing waits for longer than it has to. */
describe('a recurring pass', () => {
  let log: CapturedLog;
  beforeEach(() => {
    log = capturedLog();
  });

  /** Runs `pass` until it was run `times` times, and stops it. */
  async function runs(times: number, pass: (time: number) => Promise<void>, more: Partial<RecurringPass> = {}) {
    let time = 0;
    let recurring: ReturnType<typeof startRecurring> | undefined;
    await new Promise<void>((done) => {
      recurring = startRecurring(
        {
          name: 'counting',
          intervalMs: 1,
          async run() {
            time += 1;
            if (time === times) done();
            await pass(time);
          },
          ...more,
        },
        log,
      );
    });
    await recurring?.stop();
    return time;
  }

  it('is run again and again, and never beside itself', async () => {
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

  it('goes on after a failure, which is told once until it succeeds again', async () => {
    const fails = [true, true, false, true, false];
    await runs(fails.length + 1, async (time) => {
      if (fails[time - 1]) throw new RangeError('a secret that nobody should read');
    });
    const lines = log.lines.map((line) => JSON.parse(line));
    expect(lines.map(({ level, pass }) => [level, pass])).to.deep.equal([
      ['error', 'counting'],
      ['info', 'counting'],
      ['error', 'counting'],
      ['info', 'counting'],
    ]);
  });

  it('is tried again sooner than its interval once it has failed', async () => {
    const fails = async (time: number) => {
      if (time === 1) throw new RangeError('once');
    };
    expect(await runs(2, fails, { intervalMs: 3_600_000, firstAfterMs: 0, retryMs: 1 })).to.equal(2);
  });

  it('survives a pass that throws before it has begun to wait', async () => {
    let ran = 0;
    await new Promise<void>((done) => {
      const recurring = startRecurring(
        {
          name: 'throwing',
          intervalMs: 1,
          run() {
            ran += 1;
            if (ran === 2) void recurring.stop().then(done);
            throw new TypeError('at once');
          },
        },
        log,
      );
    });
    expect(ran).to.equal(2);
  });

  it('begins when it is told to', async () => {
    expect(await runs(1, async () => undefined, { intervalMs: 3_600_000, firstAfterMs: 0 })).to.equal(1);
  });

  it('is stopped before it has begun', async () => {
    let ran = 0;
    const run = async () => {
      ran += 1;
    };
    const recurring = startRecurring({ name: 'never', intervalMs: 1, run }, log);
    await recurring.stop();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(ran).to.equal(0);
  });

  it('that is under way is waited for by a stop, and told that it may not go on', async () => {
    const told: boolean[] = [];
    let ended = false;
    let finish = () => {};
    let recurring: ReturnType<typeof startRecurring> | undefined;
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
