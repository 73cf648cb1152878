import { expect } from 'chai';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { clockWatch } from '../../../application/upkeep/clock-watch.ts';
import { type Instant, plusSeconds, secondsBetween } from '../../../domain/instant.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { movedClock } from '../../support/moved-clock.ts';

const refused = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

/** A watch whose clocks stand still, and a database whose clock is ahead by these seconds. */
function watching({ ahead = 0, queryTakes = 0 } = {}) {
  const clock = movedClock();
  clock.standStill();
  const database = clock.ofAnotherMachine();
  database.jump(ahead);
  const state = { reads: 0, isAway: false };
  async function databaseTime(): Promise<Instant> {
    state.reads += 1;
    if (state.isAway) throw new StorageUnavailable('away');
    const time = database.now();
    clock.advance(queryTakes);
    return time;
  }
  const log = capturedLog();
  const watch = clockWatch({ clock, monotonic: clock.monotonic, databaseTime, log });
  const since = (time: Instant) => secondsBetween(clock.now(), time);
  return { watch, clock, database, state, log, since };
}

describe('The clock watch', () => {
  it('asks the database once for concurrent callers, then not for ten seconds', async () => {
    const { watch, clock, state } = watching();
    await Promise.all([watch.latest(), watch.earliest(), watch.watch(), watch.latest()]);
    expect(state.reads).to.equal(1);
    clock.advance(10);
    expect(watch.latest()).to.equal(clock.now());
    expect(state.reads).to.equal(1);
    clock.advance(0.001);
    expect(await watch.latest()).to.equal(clock.now());
    expect(state.reads).to.equal(2);
  });

  it('gives the earlier and the later time, and counts the time since the reading', async () => {
    for (const ahead of [20, -20]) {
      const { watch, clock, since } = watching({ ahead });
      await watch.watch();
      clock.advance(7);
      expect(since(await watch.latest())).to.equal(Math.max(ahead, 0));
      expect(since(await watch.earliest())).to.equal(Math.min(ahead, 0));
      expect(watch.aheadOfDatabase()).to.equal(-ahead);
    }
  });

  it('counts the duration of the query against the use: the later time is not too early, no deletion too early', async () => {
    const { watch, clock, since } = watching({ queryTakes: 0.5 });
    await watch.watch();
    expect(since(await watch.latest())).to.equal(0);
    expect(since((await watch.endingTime()) ?? clock.now())).to.equal(-0.5);
    // Dates of records are not earlier than their requests.
    expect(since(await watch.earliest())).to.equal(0);
    expect(watch.aheadOfDatabase()).to.equal(0);
  });

  it('asks again after a jump: the machine may have been suspended, and the monotonic clock with it', async () => {
    const { watch, clock, database, state, since } = watching();
    await watch.watch();
    // Both wall clocks go on, and the monotonic one does not.
    for (const wall of [clock, database]) wall.jump(300);
    expect(since(await watch.latest())).to.equal(0);
    expect(state.reads).to.equal(2);
    expect(await watch.endingTime()).to.equal(undefined);
    clock.advance(60);
    expect(await watch.endingTime()).to.equal(clock.now());
  });

  it('uses no old time while the database does not answer', async () => {
    const { watch, clock, state } = watching();
    await watch.watch();
    state.isAway = true;
    expect(await refused(watch.endingTime())).to.be.instanceOf(StorageUnavailable);
    expect(watch.latest()).to.equal(clock.now());
    clock.advance(11);
    expect(await refused(Promise.resolve(watch.latest()))).to.be.instanceOf(StorageUnavailable);
    expect(await watch.readiness.check()).to.deep.equal({
      status: 'Degraded',
      detail: "The database's clock could not be read.",
    });
    state.isAway = false;
    expect(await watch.endingTime()).to.equal(clock.now());
  });

  it('answers at all while the clock jumps at every look', async () => {
    const { watch, clock } = watching();
    const jumping = clockWatch({
      clock: { now: () => plusSeconds(clock.now(), clock.jump(10) ?? 0) },
      monotonic: clock.monotonic,
      databaseTime: async () => clock.now(),
      log: capturedLog(),
    });
    await jumping.watch();
    expect(await jumping.latest()).to.be.a('number');
    expect(await jumping.endingTime()).to.equal(undefined);
    expect((await watch.readiness.check()).status).to.equal('Degraded');
  });

  it('logs each disagreement once, and its end', async () => {
    const { watch, database, log, clock } = watching({ ahead: -31 });
    for (let looks = 0; looks < 3; looks++) {
      await watch.watch();
      clock.advance(1);
    }
    database.jump(1);
    await watch.endingTime();
    await watch.watch();
    expect(log.lines.map((line) => JSON.parse(line))).to.deep.equal([
      {
        level: 'warn',
        message: 'the clocks disagree: this instance ends and deletes nothing by time',
        problem: "The database's clock is 31 seconds behind this machine's.",
      },
      { level: 'info', message: 'the clocks agree again' },
    ]);
  });
});
