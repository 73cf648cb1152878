/**
 * Keeps from asking a provider that is down (specification "Sponsor check"): after five consecutive failures it is not
 * asked for five seconds, then one question is let through and decides.
 */

import type { Clock } from '../../application/ports/clock.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface Circuit {
  /** Leave to ask; `undefined` while nobody may. Whoever has it reports exactly once. */
  enter(): Question | undefined;
  /** Whether it has opened, and the provider has not answered since. */
  isOpen(): boolean;
}

export interface Question {
  /** The provider answered, whatever it said. */
  answered(): void;
  failed(): void;
  /** Nothing was learnt about the provider that is not counted elsewhere. */
  unknown(): void;
}

const FAILURES_TO_OPEN = 5;
const OPEN_SECONDS = 5;

export function circuit(clock: Clock): Circuit {
  let consecutiveFailures = 0;
  let openedAt: Instant | undefined;
  let probing = false;
  // Questions asked before the circuit opened or closed have no say afterwards: their news is older.
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

  /** The one question that is let through after the pause. */
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
      // A clock that was put back must not keep the circuit open for as long.
      if (probing || (age >= 0 && age < OPEN_SECONDS)) return undefined;
      probing = true;
      return probe;
    },
    isOpen: () => openedAt !== undefined,
  };
}
