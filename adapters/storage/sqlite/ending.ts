/** Ending tasks on SQLite: before their time, with everything delegated from them, or by it (specification "Task"). */

import { StorageUnavailable } from '../../../application/ports/storage.ts';
import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Revocation } from '../../../domain/tasks/task.ts';
import type { Bound } from '../rows/column.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';
import { dateOf, writeSelected } from './ledger.ts';
import { ENDED_AT_ONCE, ENDING_LIMIT_MS } from './limits.ts';

/**
 * Live tasks of the trees below the roots, parents first, as the ledger tells of them. The roots come as a JSON array,
 * and so do other lists of tasks. A cross join keeps its order: each task is looked up by its key. The planner cannot guess
 * how few there are, and would read all that are live.
 */
const findDoomed = `
  with recursive tree (task_id) as (
    select value from json_each(?)
    union
    select t.task_id from tree join tasks t on t.parent_task_id = tree.task_id
  )
  select t.task_id from tree cross join tasks t using (task_id) where t.state = 'live' and t.expires_at > ?
    order by t.created_at, t.task_id`;

const endAll = `update tasks set state = 'revoked', ended_at = ?,
    end_reason = case when task_id in (select value from json_each(?)) then ? else 'parent_revoked' end
  where task_id in (select value from json_each(?))`;

const findDue = "select task_id from tasks where state = 'live' and expires_at <= ? order by expires_at limit ?";

const expireAll = `update tasks set state = 'expired', ended_at = expires_at
  where task_id in (select value from json_each(?))`;

const revokeGrants = 'update task_grants set revoked_at = ? where task_id in (select value from json_each(?))';

/**
 * What the ledger says of tasks that have just ended, parents first: renewals that have no record of their own summed
 * up, then the end.
 */
const ends = `
  with ended as (
    select t.*, coalesce((select sum(unrecorded) from task_grants g where g.task_id = t.task_id), 0) as unrecorded
      from json_each(?) given join tasks t on t.task_id = given.value
  ), said (nth) as (values (1), (2))
  select ? as ts, case nth when 1 then 'token.refreshed' else 'task.' || state end as event, task_id, agent_id, sponsor,
      audience, scope, null as jti, delegation_depth, 'allow' as decision,
      case nth when 2 then coalesce(end_reason, 'task_ttl_elapsed') end as reason,
      case nth when 1 then unrecorded end as count, null as detail
    from ended cross join said where nth = 2 or unrecorded > 0 order by created_at, task_id, nth`;

/**
 * Ends live tasks and answers how many. The roots end with the given reason, also where one was delegated from
 * another; the rest with `parent_revoked`. One whose time is up is not live, swept or not: an expiry is never recorded
 * as a revocation.
 *
 * @param limitMs milliseconds that it may take; the first ENDED_AT_ONCE take what they need
 * @throws StorageUnavailable when it takes longer: the decision is undone then, and not made again
 */
export function endTasks(
  run: Run,
  roots: readonly TaskId[],
  { at, reason }: Revocation,
  limitMs: number = ENDING_LIMIT_MS,
): number {
  const until = performance.now() + limitMs;
  const doomed = taskIds(run, findDoomed, [JSON.stringify(roots), bindInstant(at)]);
  const named = new Set(roots);
  for (let done = 0; done < doomed.length; done += ENDED_AT_ONCE) {
    if (done > 0 && performance.now() > until) throw new StorageUnavailable('There are too many tasks to end');
    const some = doomed.slice(done, done + ENDED_AT_ONCE);
    const ended = JSON.stringify(some);
    run(endAll, [bindInstant(at), JSON.stringify(some.filter((taskId) => named.has(taskId))), reason, ended]);
    writeEnds(run, ended, at);
  }
  return doomed.length;
}

/** Records, as of `at`, the expiry of live tasks whose time was up by `overBy`, and answers how many. */
export function expireTasks(run: Run, overBy: Instant, at: Instant, limit: number): number {
  const due = taskIds(run, findDue, [bindInstant(overBy), limit]);
  if (due.length === 0) return 0;
  const ended = JSON.stringify(due);
  run(expireAll, [ended]);
  writeEnds(run, ended, at);
  return due.length;
}

function writeEnds(run: Run, ended: string, at: Instant): void {
  run(revokeGrants, [bindInstant(at), ended]);
  writeSelected(run, ends, [ended, bindInstant(dateOf(run, at))]);
}

function taskIds(run: Run, query: string, values: readonly Bound[]): readonly TaskId[] {
  return run<{ task_id: TaskId }>(query, values).rows.map((row) => row.task_id);
}
