import { expect } from 'chai';
import fc from 'fast-check';
import { systemClock } from '../../../adapters/platform/system-clock.ts';

/** A simulated time in microseconds, and the wall clock and monotonic clock that show it. */
function world(start: number) {
  let truth = start;
  let step = 0;
  return {
    wall: () => Math.floor((truth + step) / 1000),
    monotonic: () => (truth - start) / 1000 + 17.25,
    /** The wall clock in microseconds. */
    shown: () => truth + step,
    pass(micros: number) {
      truth += micros;
    },
    set(micros: number) {
      step += micros;
    },
  };
}

const START = 1_790_000_000_000_400;
const HOUR = 3_600_000_000;

describe('systemClock', () => {
  it('counts the microseconds that the wall clock does not show', () => {
    const time = world(START);
    const clock = systemClock(time);
    const first = clock.now();
    time.pass(250);
    expect(clock.now() - first).to.equal(250);
    expect(time.wall()).to.equal(Math.floor(START / 1000));
  });

  it('is within a millisecond of a slewed wall clock', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(2_000_000), fc.nat(900))), (moves) => {
        const time = world(START);
        const clock = systemClock(time);
        for (const [passed, slewed] of moves) {
          time.pass(passed);
          time.set(slewed);
          expect(Math.abs(clock.now() - time.shown())).to.be.lessThan(1000);
        }
      }),
    );
  });

  it('never goes back while the wall clock is set back by less than a second in total', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5_000_000), fc.nat(9_000)), { maxLength: 100 }), (moves) => {
        const time = world(START);
        const clock = systemClock(time);
        let latest = clock.now();
        for (const [passed, back] of moves) {
          time.pass(passed);
          time.set(-back);
          const now = clock.now();
          expect(now).to.be.at.least(latest);
          latest = now;
        }
      }),
    );
  });

  it('follows a wall clock that is set back by more than a second, so that tokens expire in time', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_002_000, max: HOUR }), (back) => {
        const time = world(START);
        const clock = systemClock(time);
        clock.now();
        time.set(-back);
        expect(Math.abs(clock.now() - time.shown())).to.be.lessThan(1000);
      }),
    );
  });

  it('follows a wall clock that is set forward at once', () => {
    const time = world(START);
    const clock = systemClock(time);
    clock.now();
    time.set(HOUR);
    time.pass(10);
    expect(Math.abs(clock.now() - time.shown())).to.be.lessThan(1000);
  });

  it('stops after the wall clock was set back, until the wall clock has caught up', () => {
    const time = world(START);
    const clock = systemClock(time);
    const before = clock.now();
    time.set(-5_000_000);
    time.pass(4_990_000);
    expect(clock.now()).to.equal(before);
    time.pass(20_000);
    expect(Math.abs(clock.now() - time.shown())).to.be.lessThan(1000);
  });

  it('reads the real clocks in whole microseconds', () => {
    const clock = systemClock();
    const before = Date.now() * 1000;
    const now = clock.now();
    const after = (Date.now() + 1) * 1000;
    expect(now).to.be.within(before, after);
    expect(Number.isSafeInteger(now)).to.equal(true);
  });
});
