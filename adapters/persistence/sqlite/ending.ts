/** Ending tasks on SQLite: before their time, with everything delegated from them, or by it (specification "Task"). */

import type { TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Revocation } from '../../../domain/tasks/task.ts';
import type { Bound } from '../sql/column.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';
import { dateOf, writeSelected } from './ledger.ts';

/** Live tasks of the trees below the roots. The roots come as a JSON array, and so do other lists of tasks. */
const findDoomed = `
  with recursive tree (task_id) as (
    select value from json_each(?)
    union
    select t.task_id from tree join tasks t on t.parent_task_id = tree.task_id
  )
  select t.task_id from tree join tasks t using (task_id) where t.state = 'live' and t.expires_at > ?`;

const endAll = `update tasks set state = 'revoked', ended_at = ?,
    end_reason = case when task_id in (select value from json_each(?)) then ? else 'parent_revoked' end
  where task_id in (select value from json_each(?))`;

const findDue = "select task_id from tasks where state = 'live' and expires_at <= ? order by expires_at limit ?";

const expireAll = `update tasks set state = 'expired', ended_at = expires_at
  where task_id in (select value from json_each(?))`;

const revokeGrants = `update task_grants set revoked_at = ?
  where task_id in (select value from json_each(?)) and revoked_at is null`;

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
 */
export function endTasks(run: Run, roots: readonly TaskId[], { at, reason }: Revocation): number {
  const named = JSON.stringify(roots);
  const doomed = taskIds(run, findDoomed, [named, bindInstant(at)]);
  if (doomed.length === 0) return 0;
  const ended = JSON.stringify(doomed);
  run(endAll, [bindInstant(at), named, reason, ended]);
  writeEnds(run, ended, at);
  return doomed.length;
}

/** Records the expiry of live tasks whose time was up at `now`, and answers how many. */
export function expireTasks(run: Run, now: Instant, limit: number): number {
  const due = taskIds(run, findDue, [bindInstant(now), limit]);
  if (due.length === 0) return 0;
  const ended = JSON.stringify(due);
  run(expireAll, [ended]);
  writeEnds(run, ended, now);
  return due.length;
}

function writeEnds(run: Run, ended: string, at: Instant): void {
  run(revokeGrants, [bindInstant(at), ended]);
  writeSelected(run, ends, [ended, bindInstant(dateOf(run, at))]);
}

function taskIds(run: Run, query: string, values: readonly Bound[]): readonly TaskId[] {
  return run<{ task_id: TaskId }>(query, values).rows.map((row) => row.task_id);
}
