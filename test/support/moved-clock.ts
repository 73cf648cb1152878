/** A clock that runs with the system's, can be set ahead, and can be made to stand still. */

import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, instantFromMillis, plusSeconds, toSeconds } from '../../domain/instant.ts';

export interface MovedClock extends Clock {
  advance(seconds: number): void;
  /** From now on only `advance` moves it. */
  standStill(): void;
  /** Whole seconds since the epoch: what goes into a token. */
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
