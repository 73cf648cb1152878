/**
 * Creates the ledger's partitions as soon as an append or a readiness check finds that this month has none. The hourly
 * upkeep (`composition/jobs.ts`) creates them ahead, so this happens only if it failed for months, or a partition was
 * dropped.
 */

import type { Monotonic } from '../../../application/ports/runtime.ts';
import type { Log } from '../../../application/ports/telemetry.ts';

/** Every request of that month finds it missing. */
export const PAUSE_MS = 10_000;

/** Returns a function that begins the creation, unless it runs or began a moment ago. A failure is logged. */
export function missingPartitions(create: () => Promise<void>, monotonic: Monotonic, log: Log): () => void {
  let beganAt = Number.NEGATIVE_INFINITY;
  let isRunning = false;
  return () => {
    if (isRunning || monotonic() - beganAt < PAUSE_MS) return;
    isRunning = true;
    beganAt = monotonic();
    void create()
      .then(
        () => log.warn('the ledger had no partition for this month, and its partitions were created'),
        (error: unknown) => log.error('the ledger has no partition for this month, and none could be created', error),
      )
      .finally(() => {
        isRunning = false;
      });
  };
}
