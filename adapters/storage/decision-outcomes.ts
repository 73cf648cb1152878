/**
 * Remembers whether the last decisions of this process were committed, and why the last one failed. A readiness check
 * cannot find that out by itself: it writes less than a decision, or nothing.
 */

import { type DatabaseFault, describeFault, StorageUnavailable } from '../../application/ports/decisions.ts';
import type { ReadinessCheck } from '../../application/ports/runtime.ts';
import { DECISIONS_FAIL } from '../../application/ports/storage.ts';

/** For this time after a failed decision the database counts as unable to decide, unless a later decision succeeds. */
export const FAILING_MS = 10_000;

export interface DecisionOutcomes {
  /** A change was committed. A refusal that was recorded is one; a transaction that changed nothing proves nothing. */
  committed(): void;
  /**
   * A decision failed with this error. Errors of other classes are bugs, and say nothing of the database. An error without
   * a fault (a full queue) follows from others: it only prolongs their time.
   */
  failed(error: unknown): void;
  /** Whether a change was committed in the last milliseconds. */
  committedWithin(ms: number): boolean;
  /** Why decisions fail; `undefined` if none failed in the last FAILING_MS, or one was committed since. */
  failing(): DatabaseFault | undefined;
}

/** @param now milliseconds of a monotonic clock */
export function decisionOutcomes(now: () => number): DecisionOutcomes {
  let committedAt = Number.NEGATIVE_INFINITY;
  let last: { readonly fault: DatabaseFault; readonly at: number } | undefined;
  const failing = () => (last !== undefined && now() - last.at < FAILING_MS ? last.fault : undefined);
  return {
    committed() {
      committedAt = now();
      last = undefined;
    },
    failed(error) {
      if (!(error instanceof StorageUnavailable)) return;
      const fault = error.fault ?? failing();
      if (fault !== undefined) last = { fault, at: now() };
    },
    committedWithin: (ms) => now() - committedAt < ms,
    failing,
  };
}

type Verdict = Awaited<ReturnType<ReadinessCheck['check']>>;

export const READS_GO_ON = 'Introspection and key sets are served.';

/**
 * The readiness of a database in which decisions fail. It is not `Unhealthy`: the load balancer would then take away
 * introspection and key sets too, and every other replica has the same database.
 */
export function describeFailing(fault: DatabaseFault): Verdict {
  return { status: 'Degraded', detail: `${DECISIONS_FAIL} ${describeFault(fault)}. ${READS_GO_ON}` };
}
