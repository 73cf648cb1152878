/**
 * A circuit breaker for the provider (specification "Sponsor check"). After five failures in a row, about at least two people, it
 * blocks all queries for five seconds. Then it lets one query through, whose result decides. If it fails, the next one should be
 * about another person: a provider may fail for the name of one person only.
 */

import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export interface Circuit {
  /** Permits a query about a person. Returns `undefined` while the circuit is open. The caller reports the result exactly once. */
  enter(person: string): Question | undefined;
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
/** Queries about the person of the last failed probe wait so long. In between, one about another person can be the probe. */
const OPEN_FOR_SAME_SECONDS = 2 * OPEN_SECONDS;

export function circuit(clock: Clock): Circuit {
  let consecutiveFailures = 0;
  /** The person of the first of these failures. */
  let firstFailed: string | undefined;
  let concernsSeveral = false;
  let openedAt: Instant | undefined;
  let probing = false;
  let lastProbed: string | undefined;
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
    lastProbed = undefined;
    forgetFailures();
  }

  function forgetFailures(): void {
    consecutiveFailures = 0;
    firstFailed = undefined;
    concernsSeveral = false;
  }

  /** The single query that is let through after the pause. */
  const probe: Question = { answered: close, failed: open, unknown: open };

  function ordinary(person: string): Question {
    const askedIn = epoch;
    return {
      answered() {
        if (askedIn === epoch) forgetFailures();
      },
      failed() {
        if (askedIn !== epoch) return;
        consecutiveFailures += 1;
        firstFailed ??= person;
        if (person !== firstFailed) concernsSeveral = true;
        if (consecutiveFailures >= FAILURES_TO_OPEN && concernsSeveral) open();
      },
      unknown() {},
    };
  }

  return {
    enter(person) {
      if (openedAt === undefined) return ordinary(person);
      const age = secondsBetween(openedAt, clock.now());
      const pause = person === lastProbed ? OPEN_FOR_SAME_SECONDS : OPEN_SECONDS;
      // A clock that was set back must not keep the circuit open longer.
      if (probing || (age >= 0 && age < pause)) return undefined;
      probing = true;
      lastProbed = person;
      return probe;
    },
    isOpen: () => openedAt !== undefined,
  };
}
