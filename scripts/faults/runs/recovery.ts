/** How soon everything is served again once a cause is gone, and how long anybody waited meanwhile. */

import { isUnknown, type Kept } from '../load/kept.ts';
import { longestAnswer } from '../reconciliation/reconcile.ts';

/** From the end of one fault to the beginning of the next, by `wallClock`: who asks just before that one is hit by it. */
export interface Respite {
  readonly from: number;
  readonly until: number;
}

/** What docs/operating.md promises, in milliseconds. */
const RECOVERED_WITHIN_MS = 5_000;
const ANSWERED_WITHIN_MS = 9_000;

export interface Recovery {
  readonly figure: string;
  readonly faults: readonly string[];
}

export function recovery(kept: readonly Kept[], respites: readonly Respite[]): Recovery {
  const troubles = respites.map(({ from, until }) =>
    kept.reduce(
      (longest, one) =>
        isUnknown(one) && one.began >= from && one.ended < until ? Math.max(longest, one.began - from) : longest,
      0,
    ),
  );
  const late = kept.filter((one) =>
    respites.some(({ from, until }) => isUnknown(one) && one.began > from + RECOVERED_WITHIN_MS && one.ended < until),
  );
  const unserved = respites.filter(
    ({ from, until }) => !kept.some((one) => !isUnknown(one) && one.began >= from && one.began < until),
  );
  const worst = Math.round(Math.max(0, ...troubles));
  const slowest = Math.round(longestAnswer(kept));
  return {
    figure: `once the cause was gone, the last request that was not served came ${worst} ms later at most`,
    faults: [
      ...(worst > RECOVERED_WITHIN_MS
        ? [`it took ${worst} ms until everything was served again: ${described(late)}`]
        : []),
      ...(unserved.length > 0 ? [`after ${unserved.length} of the faults nothing was served any more`] : []),
      ...(slowest > ANSWERED_WITHIN_MS ? [`an answer took ${slowest} ms: ${described(kept.filter(isSlow))}`] : []),
    ],
  };
}

function isSlow({ status, began, ended }: Kept): boolean {
  return status !== 0 && ended - began > ANSWERED_WITHIN_MS;
}

function described(some: readonly Kept[]): string {
  return [...new Set(some.map(({ act, status, error }) => `"${act}" ${status} ${error ?? ''}`))].join(', ');
}
