/** The system clock plus an offset that a test sets. A test can also stop it, or make it wrong. */

import type { Clock, Monotonic, SharedTime } from '../../application/ports/runtime.ts';
import { type Instant, instantFromMillis, plusSeconds, toSeconds } from '../../domain/instant.ts';

export interface MovedClock extends Clock {
  /** Lets time pass, for the monotonic clock too. */
  advance(seconds: number): void;
  /** Stops the clock. From then on, only `advance` moves it. */
  standStill(): void;
  /** Whole seconds since the epoch, as tokens have them. */
  seconds(): number;
  /** Sets the clock without letting time pass: it becomes wrong, or right again. */
  jump(seconds: number): void;
  /** In milliseconds: the clock as it would be without jumps. */
  readonly monotonic: Monotonic;
  /** The right clock of another machine. Time passes for both, and jumps are their own. */
  ofAnotherMachine(): MovedClock;
}

export function movedClock(): MovedClock {
  let passed = 0;
  let stoodAt: Instant | undefined;
  let read: Instant | undefined;
  /**
   * The same for all readings of one step of the program. A service reads its two clocks one after the other: a millisecond
   * that passed between them would part them for good, and then nothing is over to the instant.
   */
  function running(): Instant {
    if (read === undefined) {
      read = instantFromMillis(Date.now());
      queueMicrotask(() => {
        read = undefined;
      });
    }
    return read;
  }
  const right = () => plusSeconds(stoodAt ?? running(), passed);

  function machine(): MovedClock {
    let wrongBy = 0;
    const now = () => plusSeconds(right(), wrongBy);
    return {
      now,
      advance(seconds) {
        passed += seconds;
      },
      standStill() {
        stoodAt = instantFromMillis(Date.now());
      },
      seconds: () => toSeconds(now()),
      jump(seconds) {
        wrongBy += seconds;
      },
      monotonic: () => right() / 1000,
      ofAnotherMachine: machine,
    };
  }
  return machine();
}

/** For a use case whose clock agrees with the database's. */
export function agreeing(clock: Clock): SharedTime {
  return { latest: () => clock.now(), earliest: () => clock.now(), undoubted: () => clock.now() };
}
