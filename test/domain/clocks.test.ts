import { expect } from 'chai';
import {
  type ClockCourse,
  continueCourse,
  differsTooMuch,
  secondsAhead,
  secondsAheadByDate,
  startOfCourse,
  steadyTime,
} from '../../domain/clocks.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';

/** Readings, each as the seconds since the first by the wall clock and by the monotonic one. */
function courseOf(readings: readonly (readonly [wall: number, monotonic: number])[]): ClockCourse {
  const reading = ([wall, monotonic]: readonly [number, number]) => ({
    wall: plusSeconds(NOON, wall),
    monotonicMs: 7_000.5 + monotonic * 1000,
  });
  return readings.map(reading).reduce(continueCourse, startOfCourse(reading([0, 0])));
}

describe('The course of a clock', () => {
  const jumpsOf = [5.001, -5.001, 3600];
  for (const jump of jumpsOf) {
    it(`is not steady for a minute after a jump of ${jump} seconds`, () => {
      expect(courseOf([[1 + jump, 1]]).isSteady).to.equal(false);
      expect(
        courseOf([
          [1 + jump, 1],
          [60.9 + jump, 60.9],
        ]).isSteady,
      ).to.equal(false);
      expect(
        courseOf([
          [1 + jump, 1],
          [61 + jump, 61],
        ]).isSteady,
      ).to.equal(true);
    });
  }

  it('is not steady before a minute has passed since the last jump', () => {
    expect(
      courseOf([
        [601, 1],
        [2, 2],
        [61.9, 61.9],
      ]).isSteady,
    ).to.equal(false);
    expect(
      courseOf([
        [601, 1],
        [2, 2],
        [62, 62],
      ]).isSteady,
    ).to.equal(true);
    const backAndForth = Array.from({ length: 200 }, (_, nth) => [nth + 1 + (nth % 2 ? 0 : 600), nth + 1] as const);
    expect(courseOf(backAndForth).isSteady).to.equal(false);
  });

  it('is steady while the clock is slewed, stepped by up to five seconds, or seldom read', () => {
    const slewed = Array.from({ length: 1000 }, (_, nth) => [nth * 1.0005, nth] as const);
    expect(courseOf(slewed).isSteady).to.equal(true);
    for (const step of [5, -5]) expect(courseOf([[1 + step, 1]]).isSteady).to.equal(true);
    expect(courseOf([[86_400, 86_400]]).isSteady).to.equal(true);
  });

  it('is not steady if small steps add up to more than five seconds in a minute', () => {
    const steps = Array.from({ length: 6 }, (_, nth) => [nth * 3, nth * 2] as const);
    expect(courseOf(steps).isSteady).to.equal(true);
    expect(courseOf([...steps, [18, 12]]).isSteady).to.equal(false);
  });

  it('tells the time without the jump until the clock has been steady for a minute', () => {
    const at = (course: ClockCourse, monotonic: number) => steadyTime(course, 7_000.5 + monotonic * 1000);
    expect(at(courseOf([[-418, 2]]), 3)).to.equal(plusSeconds(NOON, 3));
    expect(
      at(
        courseOf([
          [-418, 2],
          [-358.1, 61.9],
        ]),
        61.9,
      ),
    ).to.equal(plusSeconds(NOON, 61.9));
    expect(
      at(
        courseOf([
          [-418, 2],
          [-358, 62],
        ]),
        62,
      ),
    ).to.equal(plusSeconds(NOON, -358));
  });
});

describe('Another clock', () => {
  it('differs by the seconds outside of the interval in which it was read', () => {
    const after = instantFromMicros(NOON + 1_000_000);
    for (const [other, ahead] of [
      [NOON, 0],
      [after, 0],
      [plusSeconds(after, 40), 40],
      [plusSeconds(NOON, -40), -40],
    ] as const) {
      expect(secondsAhead(NOON, other, after)).to.equal(ahead);
    }
  });

  // A date has whole seconds, and the server may set it at any time of the request.
  for (const [took, told, ahead] of [
    [0, 0, 0],
    [0, -0.9, 0],
    [2, 1, 0],
    [2, 30, 28],
    [2, -30, -29],
  ] as const) {
    it(`is ${ahead} s ahead by a date ${told} s after the request was sent, if the request took ${took} s`, () => {
      const date = plusSeconds(NOON, told);
      expect(secondsAheadByDate(NOON, date, plusSeconds(NOON, took))).to.be.closeTo(ahead, 0.001);
    });
  }

  it('differs too much beyond thirty seconds in either direction', () => {
    for (const [seconds, isTooMuch] of [
      [30, false],
      [-30, false],
      [30.001, true],
      [-30.001, true],
    ] as const) {
      expect(differsTooMuch(seconds)).to.equal(isTooMuch);
    }
  });
});
