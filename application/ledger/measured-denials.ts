/** Counts denials for the metrics at the point where they are recorded, one by one or for a summary. */

import type { Decisions } from '../ports/decisions.ts';
import type { Measurements } from '../ports/telemetry.ts';
import type { AnonymousDenials } from './anonymous-denials.ts';

type Counting = Pick<Measurements, 'denied'>;

/** Anonymous denials count as soon as they happen: the database may be slow or unavailable. */
export function measuredAnonymousDenials(anonymous: AnonymousDenials, { denied }: Counting): AnonymousDenials {
  return {
    ...anonymous,
    record(denial) {
      denied(denial.event, denial.reason);
      return anonymous.record(denial);
    },
  };
}

/** Other denials count once they are recorded, under the recorded reason. */
export function measuredDenials<Storage extends Decisions>(storage: Storage, { denied }: Counting): Storage {
  return {
    ...storage,
    async decide(decision, input) {
      const verdict = await storage.decide(decision, input);
      const denial = decision.denial?.(input, verdict);
      if (denial !== undefined) denied(denial.event, denial.reason);
      return verdict;
    },
  };
}
