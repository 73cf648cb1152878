/**
 * A circuit breaker for the provider (specification "Sponsor check"). After five failures in a row it blocks all queries
 * for five seconds. Then it lets one query through, whose result decides.
 */

import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface Circuit {
  /** Permits a query. Returns `undefined` while the circuit is open. The caller reports the result exactly once. */
  enter(): Question | undefined;
  /** Whether the circuit has opened, and no query has been answered since. */
  isOpen(): boolean;
}

export interface Question {
  /** The provider answered, with any status. */
  answered(): void;
  failed(): void;
  /** The query has no result, or shares the result of another query. */
  unknown(): void;
}

const FAILURES_TO_OPEN = 5;
const OPEN_SECONDS = 5;

export function circuit(clock: Clock): Circuit {
  let consecutiveFailures = 0;
  let openedAt: Instant | undefined;
  let probing = false;
  // Results of queries that began before the circuit last opened or closed are out of date, and ignored.
  let epoch = 0;

  function open(): void {
    epoch += 1;
    openedAt = clock.now();
    probing = false;
  }

  function close(): void {
    epoch += 1;
    openedAt = undefined;
    probing = false;
    consecutiveFailures = 0;
  }

  /** The single query that is let through after the pause. */
  const probe: Question = { answered: close, failed: open, unknown: open };

  function ordinary(): Question {
    const askedIn = epoch;
    return {
      answered() {
        if (askedIn === epoch) consecutiveFailures = 0;
      },
      failed() {
        if (askedIn !== epoch) return;
        consecutiveFailures += 1;
        if (consecutiveFailures >= FAILURES_TO_OPEN) open();
      },
      unknown() {},
    };
  }

  return {
    enter() {
      if (openedAt === undefined) return ordinary();
      const age = secondsBetween(openedAt, clock.now());
      // A clock that was set back must not keep the circuit open longer.
      if (probing || (age >= 0 && age < OPEN_SECONDS)) return undefined;
      probing = true;
      return probe;
    },
    isOpen: () => openedAt !== undefined,
  };
}
