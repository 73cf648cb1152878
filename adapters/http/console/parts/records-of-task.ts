/** The records of one task, for the screens *Task* and *Record*. */

import type { TaskId } from '../../../../domain/identifiers.ts';
import type { ScreenContext } from '../context.ts';

/** The console shows as many records as `GET /admin/tasks/{task_id}` lists. */
const MAX_RECORDS = 1000;

/** Oldest first; `undefined` without the role to read the ledger. */
export async function recordsOf(context: ScreenContext, taskId: TaskId) {
  if (!context.may('auditor')) return undefined;
  const answer = await context.audit.query({ filters: { taskId }, limit: MAX_RECORDS, cursor: undefined });
  return answer.kind === 'page' ? answer.records : [];
}
