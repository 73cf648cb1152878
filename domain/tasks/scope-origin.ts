/**
 * The origin of a task's scope (docs/decisions/0021): what the person's token had, and what the agent asked for. The ledger has
 * no hash of it, only the scope that was granted, which both have in common. So an origin that lacks a part of the recorded
 * scope was changed; of more than that the ledger says nothing.
 */

import type { Difference, RecordOfRow } from '../ledger/compared.ts';
import { formatScope } from '../scope.ts';
import type { Task } from './task.ts';

/** Compares the origin and the scope of a stored task with the record of its start. `undefined` if they agree. */
export function differenceOfOrigin(
  task: Pick<Task, 'taskId' | 'scope' | 'createdAt'> & { readonly origin: NonNullable<Task['origin']> },
  records: readonly RecordOfRow[],
): Difference | undefined {
  const { taskId, scope, createdAt: at, origin } = task;
  const differs = (how: Difference['how']): Difference => ({ what: 'scope', id: taskId, how });
  const record = records.find(({ event }) => event === 'token.issued');
  if (record === undefined) return { ...differs('no_record'), written: { at } };
  if (record.scope !== formatScope(scope)) return differs('names');
  const isInBoth = scope.every((each) => origin.held.includes(each) && origin.asked.includes(each));
  return isInBoth ? undefined : differs('text');
}
