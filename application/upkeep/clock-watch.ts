/**
 * Compares the clock of this instance with the database's, and with the monotonic clock (supplement "Clocks"). It gives
 * the times by which shared state ends, and says whether this instance may end any. docs/decisions/0022-two-clocks.md
 * lists what ends by which clock.
 */

import {
  type ClockCourse,
  type ClockReading,
  continueCourse,
  describeDifference,
  differsTooMuch,
  earlierOf,
  JUMPED,
  laterOf,
  secondsAhead,
  startOfCourse,
  steadyTime,
} from '../../domain/clocks.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import type { Clock, Monotonic, ReadinessCheck, SharedTime } from '../ports/runtime.ts';
import type { Log } from '../ports/telemetry.ts';

interface ClockWatching {
  readonly clock: Clock;
  readonly monotonic: Monotonic;
  /** Reads the database's clock. `undefined` if the database has none: a file. */
  readonly databaseTime: (() => Promise<Instant>) | undefined;
  readonly log: Log;
}

export interface ClockWatch extends SharedTime {
  /** Reads the clocks once. A job calls it every second. @throws StorageUnavailable */
  watch(): Promise<void>;
  /**
   * The time by which this instance may end and delete shared state now: the earlier of the two clocks. `undefined` if it
   * may not, because the clocks disagree.
   *
   * @throws StorageUnavailable
   */
  endingTime(): Promise<Instant | undefined>;
  /** Seconds by which this instance is ahead of the database, by the last reading. `undefined` without one. */
  aheadOfDatabase(): number | undefined;
  /** The check `clock` of `/readyz`. */
  readonly readiness: ReadinessCheck;
}

/** The database's clock as it was read, and the times of this process before and after. */
interface DatabaseReading {
  readonly time: Instant;
  readonly sentMs: number;
  readonly receivedMs: number;
  /** Seconds by which the database is ahead of this instance. */
  readonly ahead: number;
}

/**
 * After this time the database is asked again before its time is used. Until then the monotonic clock tells how much time
 * has passed since the reading. A `jti` is kept for a minute after its end, which is longer than a reading can be off.
 */
const FRESH_MS = 10_000;

const AGREE = { status: 'Healthy', detail: 'The clocks agree.' } as const;

/** The clocks, and what their last readings showed. */
interface Watched extends ClockWatching {
  course: ClockCourse;
  reading: DatabaseReading | undefined;
  /** The reading under way, shared by concurrent callers. */
  underWay: Promise<DatabaseReading | undefined> | undefined;
  /** The problem that was logged last, if it still exists. */
  reported: string | undefined;
}

export function clockWatch({ clock, monotonic, databaseTime, log }: ClockWatching): ClockWatch {
  const watched: Watched = {
    clock,
    monotonic,
    databaseTime,
    log,
    course: startOfCourse({ wall: clock.now(), monotonicMs: monotonic() }),
    reading: undefined,
    underWay: undefined,
    reported: undefined,
  };

  return {
    latest() {
      const known = knownClocks(watched);
      return known === undefined ? readClocks(watched).then(latestOf) : latestOf(known);
    },
    earliest() {
      const known = knownClocks(watched);
      return known === undefined ? readClocks(watched).then(datingOf) : datingOf(known);
    },
    undoubted() {
      const known = knownClocks(watched);
      return known === undefined
        ? readClocks(watched).then((clocks) => undoubtedOf(watched, clocks))
        : undoubtedOf(watched, known);
    },
    async watch() {
      await readDatabase(watched);
      readOwn(watched);
      report(watched, problemOf(watched));
    },
    async endingTime() {
      const read = await readClocks(watched);
      const problem = problemOf(watched);
      report(watched, problem);
      return problem === undefined ? earliestOf(read) : undefined;
    },
    aheadOfDatabase: () => watched.reading && 0 - watched.reading.ahead,
    readiness: {
      name: 'clock',
      async check() {
        try {
          if (knownClocks(watched) === undefined) await readDatabase(watched);
        } catch {
          return { status: 'Degraded', detail: "The database's clock could not be read." };
        }
        const problem = problemOf(watched);
        if (problem === undefined) return AGREE;
        return {
          status: 'Degraded',
          detail: `${problem} This instance ends and deletes nothing by time until the clocks agree.`,
        };
      },
    },
  };
}

/** Reads both clocks of this process. Part of every request that uses an assertion, so it makes few objects. */
function readOwn(watched: Watched): ClockReading {
  const now = { wall: watched.clock.now(), monotonicMs: watched.monotonic() };
  const next = continueCourse(watched.course, now);
  // The monotonic clock may have stopped while the machine was suspended.
  if (next !== watched.course && !next.isSteady) watched.reading = undefined;
  watched.course = next;
  return now;
}

function readDatabase(watched: Watched): Promise<DatabaseReading | undefined> {
  watched.underWay ??= readDatabaseOnce(watched).finally(() => {
    watched.underWay = undefined;
  });
  return watched.underWay;
}

async function readDatabaseOnce(watched: Watched): Promise<DatabaseReading | undefined> {
  if (watched.databaseTime === undefined) return undefined;
  const sent = readOwn(watched);
  const time = await watched.databaseTime();
  const received = readOwn(watched);
  const ahead = secondsAhead(sent.wall, time, received.wall);
  watched.reading = { time, sentMs: sent.monotonicMs, receivedMs: received.monotonicMs, ahead };
  return watched.reading;
}

/** `undefined` if the database must be asked first. */
function knownClocks(watched: Watched): TwoClocks | undefined {
  const now = readOwn(watched);
  const { databaseTime, course, reading } = watched;
  if (databaseTime === undefined) return withSteady(now, course);
  return reading && now.monotonicMs - reading.receivedMs <= FRESH_MS ? withDatabase(now, reading) : undefined;
}

async function readClocks(watched: Watched): Promise<TwoClocks> {
  const reading = await readDatabase(watched);
  const now = readOwn(watched);
  return reading === undefined ? withSteady(now, watched.course) : withDatabase(now, reading);
}

function problemOf({ course, reading }: Watched): string | undefined {
  if (!course.isSteady) return JUMPED;
  const ahead = reading?.ahead ?? 0;
  return differsTooMuch(ahead) ? describeDifference("The database's clock", ahead) : undefined;
}

function report(watched: Watched, problem: string | undefined): void {
  const { log, reported } = watched;
  if (problem !== undefined && reported === undefined) {
    log.warn('the clocks disagree: this instance ends and deletes nothing by time', { problem });
  }
  if (problem === undefined && reported !== undefined) log.info('the clocks agree again');
  watched.reported = problem;
}

/** The database's time is known to the length of the query. */
interface TwoClocks {
  readonly own: Instant;
  readonly otherAtLeast: Instant;
  readonly otherAtMost: Instant;
}

function withSteady({ wall, monotonicMs }: ClockReading, course: ClockCourse): TwoClocks {
  const steady = steadyTime(course, monotonicMs);
  return { own: wall, otherAtLeast: steady, otherAtMost: steady };
}

function withDatabase({ wall, monotonicMs }: ClockReading, { time, sentMs, receivedMs }: DatabaseReading): TwoClocks {
  return {
    own: wall,
    otherAtLeast: plusSeconds(time, (monotonicMs - receivedMs) / 1000),
    otherAtMost: plusSeconds(time, (monotonicMs - sentMs) / 1000),
  };
}

function earliestOf({ own, otherAtLeast }: TwoClocks): Instant {
  return earlierOf(own, otherAtLeast);
}

/**
 * Dates what begins and judges what is ended on purpose. A time between the two bounds counts as equal: otherwise each record
 * would be dated earlier than its request by the duration of a query. Deletions take the lower bound (`endingTime`).
 */
function datingOf(clocks: TwoClocks): Instant {
  return clocks.own <= clocks.otherAtMost ? clocks.own : earliestOf(clocks);
}

/** Without a clock of the database, both times come from the clock that was set. */
function undoubtedOf({ course, reading, databaseTime }: Watched, clocks: TwoClocks): Instant {
  if (differsTooMuch(reading?.ahead ?? 0)) return earliestOf(clocks);
  if (course.isSteady) return latestOf(clocks);
  return databaseTime === undefined ? earliestOf(clocks) : clocks.otherAtMost;
}

function latestOf({ own, otherAtMost }: TwoClocks): Instant {
  return laterOf(own, otherAtMost);
}
