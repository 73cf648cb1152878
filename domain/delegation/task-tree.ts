/** The tree of a task, as the records of hand-overs in the ledger have it: nothing else is needed to rebuild it. */

import { type DelegationRecord, readTaken } from '../ledger/delegation-records.ts';

interface TakenRecord extends DelegationRecord {
  readonly taskId?: string | undefined;
}

/** A hand-over that was taken up. */
export interface Link<Taken extends TakenRecord> {
  readonly parent: string;
  readonly child: string;
  readonly taken: Taken;
}

export function linkOf<Taken extends TakenRecord>(taken: Taken): Link<Taken> | undefined {
  const named = readTaken(taken);
  return named && taken.taskId !== undefined ? { parent: named.parent, child: taken.taskId, taken } : undefined;
}

/**
 * All tasks of the tree, from any of its tasks.
 * @returns for each task the links that lead to it from the given one
 */
export function treeOf<Taken extends TakenRecord>(
  taskId: string,
  links: Iterable<Link<Taken>>,
): ReadonlyMap<string, readonly Taken[]> {
  const beside = new Map<string, Link<Taken>[]>();
  for (const link of links) {
    for (const end of [link.parent, link.child]) {
      const known = beside.get(end);
      if (known === undefined) beside.set(end, [link]);
      else known.push(link);
    }
  }
  const found = new Map<string, readonly Taken[]>([[taskId, []]]);
  // A Map is iterated in the order of its entries, new ones included.
  for (const [task, path] of found) {
    for (const { parent, child, taken } of beside.get(task) ?? []) {
      const next = task === parent ? child : parent;
      if (!found.has(next)) found.set(next, [...path, taken]);
    }
  }
  return found;
}
