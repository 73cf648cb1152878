/** The system clock plus an offset that a test sets. A test can also stop it. */

import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, instantFromMillis, plusSeconds, toSeconds } from '../../domain/instant.ts';

export interface MovedClock extends Clock {
  advance(seconds: number): void;
  /** Stops the clock. From then on, only `advance` moves it. */
  standStill(): void;
  /** Whole seconds since the epoch, as tokens have them. */
  seconds(): number;
}

export function movedClock(): MovedClock {
  let ahead = 0;
  let stoodAt: Instant | undefined;
  const now = () => plusSeconds(stoodAt ?? instantFromMillis(Date.now()), ahead);
  return {
    now,
    advance(seconds) {
      ahead += seconds;
    },
    standStill() {
      stoodAt = instantFromMillis(Date.now());
    },
    seconds: () => toSeconds(now()),
  };
}
