/**
 * Logs outages of the database as one sentence: the message, what the error means, and its code. Hundreds of requests and
 * jobs fail with one cause, so each sentence is logged at most once in OUTAGE_LINE_MS. A stack would say nothing more.
 */

import { describeFault, StorageUnavailable } from '../../application/ports/decisions.ts';
import type { Monotonic } from '../../application/ports/runtime.ts';
import type { Log } from '../../application/ports/telemetry.ts';

export const OUTAGE_LINE_MS = 10_000;

/** There are a few messages, codes and jobs. The limit only matters if an error code has no end of values. */
const MAX_REMEMBERED = 1000;

export function outageLog(log: Log, monotonic: Monotonic): Log {
  const loggedAt = new Map<string, number>();

  function isDue(line: string): boolean {
    const now = monotonic();
    if (now - (loggedAt.get(line) ?? Number.NEGATIVE_INFINITY) < OUTAGE_LINE_MS) return false;
    if (loggedAt.size === MAX_REMEMBERED) loggedAt.clear();
    loggedAt.set(line, now);
    return true;
  }

  return {
    ...log,
    error(message, cause, fields) {
      if (!(cause instanceof StorageUnavailable)) return log.error(message, cause, fields);
      const sentence = `${message}: ${cause.fault === undefined ? cause.message : describeFault(cause.fault)}`;
      // The failures of each job are separate lines: the log says of each that it succeeded again.
      if (isDue(`${sentence} ${fields?.pass ?? ''}`)) log.error(sentence, undefined, fields);
    },
  };
}
