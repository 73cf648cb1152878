/** The checks of the doctor, as a running service makes them for its console: one run at a time, shared by all who ask. */

import { type Instant, secondsBetween } from '../../domain/instant.ts';
import type { Clock } from '../ports/runtime.ts';
import type { NamedFinding } from './examine.ts';

export interface Report {
  readonly findings: readonly NamedFinding[];
  /** When the checks began. */
  readonly at: Instant;
}

/** Each run opens new connections. For this time, every request gets the findings of the last run. */
export const REPORT_LASTS_SECONDS = 15;

/** @param examine runs all checks. It resolves within their time limit */
export function sharedExamination(
  examine: () => Promise<readonly NamedFinding[]>,
  clock: Clock,
): () => Promise<Report> {
  let running: Promise<Report> | undefined;
  let last: Report | undefined;
  const run = async (): Promise<Report> => {
    const at = clock.now();
    try {
      last = { findings: await examine(), at };
      return last;
    } finally {
      running = undefined;
    }
  };
  return () => {
    if (running !== undefined) return running;
    const age = last && secondsBetween(last.at, clock.now());
    // A clock that was put back counts as a new time.
    if (last !== undefined && age !== undefined && age >= 0 && age < REPORT_LASTS_SECONDS) return Promise.resolve(last);
    running = run();
    return running;
  };
}
