/** A clock that runs with the system's and can be set ahead. */

import type { Clock } from '../../application/ports/clock.ts';
import { instantFromMillis, plusSeconds, toSeconds } from '../../domain/instant.ts';

export interface MovedClock extends Clock {
  advance(seconds: number): void;
  /** Whole seconds since the epoch: what goes into a token. */
  seconds(): number;
}

export function movedClock(): MovedClock {
  let ahead = 0;
  const now = () => plusSeconds(instantFromMillis(Date.now()), ahead);
  return {
    now,
    advance(seconds) {
      ahead += seconds;
    },
    seconds: () => toSeconds(now()),
  };
}
