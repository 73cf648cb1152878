/**
 * Whether the clock of a witness may date a cosignature. Logs refuse one that is dated minutes off, and a witness never
 * goes back in time: one cosignature dated by a clock that is ahead would keep it from cosigning until then.
 */

import { continueCourse, JUMPED, startOfCourse } from '../../domain/clocks.ts';
import { instantFromSeconds, toSeconds, toShortText } from '../../domain/instant.ts';
import { MAX_CLOCK_DIFFERENCE_SECONDS } from '../../domain/log/cosignature.ts';
import type { Clock, Monotonic, ReadinessCheck } from '../ports/runtime.ts';
import type { Log } from '../ports/telemetry.ts';
import type { WitnessedLogs } from '../ports/witnessed-logs.ts';

interface WitnessClockWatching {
  readonly clock: Clock;
  readonly monotonic: Monotonic;
  readonly logs: Pick<WitnessedLogs, 'newest'>;
  /** The origins of the watched logs. */
  readonly origins: readonly string[];
  readonly log: Log;
}

export interface WitnessClock {
  /**
   * The time of the next cosignature, in seconds since 1970. `undefined` if the witness must not cosign, because its
   * clock was set within the last minute, or is minutes behind the last cosignature.
   *
   * @param last the time of the last cosignature for this log
   */
  secondsAfter(last: number | undefined): number | undefined;
  /** Compares the clocks, and logs when they begin and cease to disagree. Called every second. @throws StorageUnavailable */
  watch(): Promise<void>;
  /** The check `clock` of `/readyz`. */
  readonly readiness: ReadinessCheck;
}

export function witnessClock({ clock, monotonic, logs, origins, log }: WitnessClockWatching): WitnessClock {
  let course = startOfCourse({ wall: clock.now(), monotonicMs: monotonic() });
  let reported: string | undefined;

  function steadySeconds(): number | undefined {
    const wall = clock.now();
    course = continueCourse(course, { wall, monotonicMs: monotonic() });
    return course.isSteady ? toSeconds(wall) : undefined;
  }

  async function findProblem(): Promise<string | undefined> {
    const now = steadySeconds();
    if (now === undefined) return JUMPED;
    for (const origin of new Set(origins)) {
      const last = (await logs.newest(origin))?.seconds;
      if (isFarAhead(last, now)) return describeAhead(origin, last);
    }
    return undefined;
  }

  return {
    secondsAfter(last) {
      const now = steadySeconds();
      if (now === undefined || isFarAhead(last, now)) return undefined;
      // A cosignature says that this was the largest tree at its time. A clock that was set back must not contradict that.
      return Math.max(now, last ?? 0);
    },
    async watch() {
      const found = await findProblem();
      if (found !== undefined && reported === undefined)
        log.warn('nothing is cosigned: the clock is wrong', { problem: found });
      if (found === undefined && reported !== undefined) log.info('the clock is right again: checkpoints are cosigned');
      reported = found;
    },
    readiness: {
      name: 'clock',
      async check() {
        // Another check reports a state file that cannot be read.
        const found = await findProblem().catch(() => undefined);
        return found === undefined
          ? { status: 'Healthy', detail: 'The clock may date cosignatures.' }
          : { status: 'Unhealthy', detail: `${found} Nothing is cosigned.` };
      },
    },
  };
}

function isFarAhead(last: number | undefined, now: number): last is number {
  return last !== undefined && last - now > MAX_CLOCK_DIFFERENCE_SECONDS;
}

function describeAhead(origin: string, last: number): string {
  const dated = toShortText(instantFromSeconds(last));
  return `The last cosignature for ${origin} is dated ${dated}, more than five minutes ahead of this machine's clock.`;
}
