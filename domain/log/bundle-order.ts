/** The order of the records in a bundle: that of their times, and of the steps of each approval and each hand-over. */

import { linkOf, treeOf } from '../delegation/task-tree.ts';
import { describeOrderFault } from '../ledger/order-fault.ts';
import type { LedgerRecord } from '../ledger/record.ts';
import { type BundleSelection, type Completeness, completenessOf, type RecordEntry } from './bundle.ts';
import { Refused } from './bundle-fault.ts';
import { isOrdered, recordOrders } from './record-orders.ts';

/** The records of a bundle are those selected, in the order of their times, and each occurs once. */
export function recordOrder(selection: BundleSelection) {
  const { taskId, tree, sponsor, agentId, from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = selection;
  const filters = Object.entries({ taskId: tree ? undefined : taskId, sponsor, agentId }).filter(
    ([, value]) => value !== undefined,
  );
  const completeness = completenessOf(selection);
  let latest = Number.NEGATIVE_INFINITY;
  /** The leaves of records with the latest time. A record that occurs twice has the same time twice. */
  let leaves = new Set<string>();
  const tasks = new Map<string, number>();
  return {
    said: completeness.said,
    /** Only of a tree: its tasks, each with the number of its first record. */
    tasks,
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
      if (tree && !tasks.has(record.taskId ?? '')) tasks.set(record.taskId ?? '', record.seq);
      return undefined;
    },
  };
}

/** A hand-over is between two tasks, and mostly between two agents, but always for one person. */
function hasWholeTrees({ taskId, tree, sponsor }: BundleSelection): boolean {
  return taskId === undefined ? sponsor !== undefined : tree === true;
}

/**
 * Whether a rule of order is about the record. The tokens and ends of tasks are examined only in bundles with whole trees: a bundle of
 * a month has any number of them.
 */
export function isOrderedIn(selection: BundleSelection, { event }: LedgerRecord): boolean {
  return isOrdered({ event }) && (hasWholeTrees(selection) || /^(?:approval|delegation)\./.test(event));
}

/**
 * Checks the order of the records of approvals and hand-overs by their places in the checkpoints. Clocks of instances differ, so
 * the times may have another order.
 *
 * @throws Refused
 */
export function verifyOrders(
  ordered: readonly RecordEntry[],
  selection: BundleSelection,
  { archivedBefore }: Completeness,
): void {
  const orders = recordOrders();
  const older = selection.from !== undefined || archivedBefore !== undefined;
  const others = !hasWholeTrees(selection);
  const place = ({ record: { checkpoint = 0 } }: RecordEntry) => checkpoint;
  const sorted = ordered.toSorted((one, other) => place(one) - place(other) || one.index - other.index);
  for (const { record } of sorted) {
    const fault = orders.fault(record, { older, others });
    if (fault !== undefined) throw new Refused(fault.kind, describeOrderFault(record.seq, fault));
  }
}

/**
 * Checks that the hand-overs in the bundle lead from the selected task to each task of which it has a record.
 *
 * @param tasks the number of the first record of each task
 * @throws Refused
 */
export function verifyTree(
  tasks: ReadonlyMap<string, number>,
  ordered: readonly RecordEntry[],
  { taskId, tree }: BundleSelection,
): void {
  if (taskId === undefined || tree === undefined) return;
  const found = treeOf(
    taskId,
    ordered.flatMap(({ record }) => linkOf(record) ?? []),
  );
  for (const [task, seq] of tasks) {
    if (!found.has(task)) throw new Refused('other_record', `Record ${seq} is of a task outside of the tree.`);
  }
}
