/** The order of the records in a bundle: that of their times, and of the steps of each approval. */

import { approvalOrder } from '../approvals/approval-order.ts';
import { describeOrderFault } from '../ledger/order-fault.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import { type BundleSelection, type Completeness, completenessOf, type RecordEntry } from './bundle.ts';
import { Refused } from './bundle-fault.ts';

/** The records of a bundle are those selected, in the order of their times, and each occurs once. */
export function recordOrder(selection: BundleSelection) {
  const { taskId, sponsor, agentId, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = selection;
  const filters = Object.entries({ taskId, sponsor, agentId }).filter(([, value]) => value !== undefined);
  const completeness = completenessOf(selection);
  let latest = Number.NEGATIVE_INFINITY;
  /** The leaves of records with the latest time. A record that occurs twice has the same time twice. */
  let leaves = new Set<string>();
  return {
    said: completeness.said,
    fault({ record, index }: RecordEntry): string | undefined {
      const isSelected = filters.every(([name, value]) => record[name as keyof LedgerRecord] === value);
      if (!isSelected || record.at < from || record.at >= to) return 'does not match the selection';
      if (record.at < latest) return 'is older than the one before it';
      if (record.at > latest) leaves = new Set();
      latest = record.at;
      const leaf = `${record.checkpoint}:${index}`;
      if (leaves.has(leaf)) return 'occurs twice';
      leaves.add(leaf);
      completeness.add(record);
      return undefined;
    },
  };
}

/**
 * Checks the order of the records of approvals by their places in the checkpoints. Clocks of instances differ, so the times may
 * have another order.
 *
 * @throws Refused
 */
export function verifyApprovalOrder(
  ofApprovals: readonly RecordEntry[],
  { from }: BundleSelection,
  { archivedBefore }: Completeness,
): void {
  const order = approvalOrder();
  const lacksOlder = from !== undefined || archivedBefore !== undefined;
  const place = ({ record: { checkpoint = 0 } }: RecordEntry) => checkpoint;
  const sorted = ofApprovals.toSorted((one, other) => place(one) - place(other) || one.index - other.index);
  for (const { record } of sorted) {
    const fault = order.fault(record, lacksOlder);
    if (fault !== undefined) throw new Refused('approval_order', describeOrderFault(record.seq, fault));
  }
}
