/**
 * A circuit breaker for the provider (specification "Sponsor check"). After five consecutive failures no query is sent
 * for five seconds. Then one query is let through, and its result decides.
 */

import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface Circuit {
  /**
   * A permission to send a query; `undefined` while the circuit is open. The caller reports the result exactly once.
   */
  enter(): Question | undefined;
  /** Whether the circuit has opened and the provider has not answered since. */
  isOpen(): boolean;
}

export interface Question {
  /** The provider answered, with any status. */
  answered(): void;
  failed(): void;
  /** No result, or one that another query reports. */
  unknown(): void;
}

const FAILURES_TO_OPEN = 5;
const OPEN_SECONDS = 5;

export function circuit(clock: Clock): Circuit {
  let consecutiveFailures = 0;
  let openedAt: Instant | undefined;
  let probing = false;
  // Results of queries from before the circuit opened or closed are ignored: they are out of date.
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

  /** The one query that is let through after the pause. */
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
      // A clock that is set back must not keep the circuit open longer.
      if (probing || (age >= 0 && age < OPEN_SECONDS)) return undefined;
      probing = true;
      return probe;
    },
    isOpen: () => openedAt !== undefined,
  };
}
