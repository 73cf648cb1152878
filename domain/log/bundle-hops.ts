/** The hand-overs in a bundle: which agent offered work to which, and when it was taken up. bundle-order.ts verifies their order. */

import { toMillisecondText } from '../instant.ts';
import { readOffered, readTaken } from '../ledger/delegation-records.ts';
import type { LedgerRecord } from '../ledger/record.ts';

/** A member is `null` if the bundle does not have its record. */
export interface BundleHop {
  readonly offer_id: string;
  /** The agent that may take it up. */
  readonly child_agent_id: string | null;
  readonly offered: HopRecord | null;
  /** Also `null` if no agent took it up. The task is the new one. */
  readonly taken: (HopRecord & { readonly parent_task_id: string }) | null;
}

interface HopRecord {
  readonly task_id: string | null;
  readonly agent_id: string | null;
  /** The number of the record. */
  readonly seq: number;
  /** ISO 8601 in UTC, with milliseconds. */
  readonly ts: string;
}

/** A report with more of them is not read. */
const MOST_HOPS = 500;

export interface BundleHops {
  /** The first 500. */
  readonly hops: readonly BundleHop[];
  /** How many more there are. */
  readonly furtherHops: number;
}

export function bundleHops() {
  const hops = new Map<string, BundleHop>();
  const further = new Set<string>();
  return {
    /** Takes a verified record, in the order of the bundle. */
    take(record: LedgerRecord): void {
      const [offered, taken] = [readOffered(record), readTaken(record)];
      const offerId = (offered ?? taken)?.offerId;
      if (offerId === undefined) return;
      const known = hops.get(offerId);
      if (known === undefined && hops.size >= MOST_HOPS) {
        further.add(offerId);
        return;
      }
      const { taskId = null, agentId = null, seq, at } = record;
      const named = { task_id: taskId, agent_id: agentId, seq, ts: toMillisecondText(at) };
      const hop = known ?? { offer_id: offerId, child_agent_id: null, offered: null, taken: null };
      hops.set(offerId, {
        ...hop,
        ...(offered && { child_agent_id: offered.child, offered: named }),
        ...(taken && {
          child_agent_id: agentId,
          taken: { ...named, parent_task_id: taken.parent },
        }),
      });
    },
    all: (): BundleHops => ({ hops: [...hops.values()], furtherHops: further.size }),
  };
}
