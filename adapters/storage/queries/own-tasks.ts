/** The tasks of a person as the person sees them. */

import type { OwnTask, OwnTasksQuestion } from '../../../application/ports/tasks.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { endReasonOf } from '../../../domain/tasks/lifetime.ts';
import type { RevocationReason, TaskState } from '../../../domain/tasks/task.ts';
import { LATEST, readScope, storable } from '../rows/column.ts';
import { LAST_TASK_ID, type TaskRow, toTaskState } from '../rows/task-row.ts';
import type { Query } from './query.ts';

interface OwnTaskRow extends Pick<TaskRow, 'task_id' | 'agent_id' | 'audience' | 'scope' | 'created_at'> {
  readonly state: TaskState['kind'];
  readonly expires_at: Instant;
  readonly end_reason: RevocationReason | null;
  /** When the task ended, or its time was up; `null` for a live task. */
  readonly over_at: Instant | null;
  readonly display_name: string | null;
  readonly renewals: number | null;
  readonly renewed_at: Instant | null;
}

const COLUMNS = 'task_id, agent_id, audience, scope, created_at, expires_at, state, end_reason';

/**
 * A page in one statement, so that a task that ends meanwhile is read once. Each part reads at most `limit` entries of its
 * index, except the live tasks, which are sorted.
 */
export const ownTasks: Query<
  { readonly sponsorKey: SponsorKey; readonly question: OwnTasksQuestion },
  readonly OwnTask[]
> = {
  name: 'own_tasks',
  plan: 'by_index',
  // Of an expression (`|| ''`) the planner reads no index, which might be that of all tasks.
  text: `select ${COLUMNS}, over_at,
      (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
      (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
      (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at
    from (
      select * from (
        select ${COLUMNS}, ended_at as over_at from tasks
          where sponsor_key = :sponsor_key and state = 'live' and expires_at > :now
            and task_id || '' < :live_before
          order by task_id || '' desc limit :limit
      ) live
      union all
      select ${COLUMNS}, expires_at from tasks
        where sponsor_key = :sponsor_key and state = 'live' and expires_at <= :now
          and (expires_at, task_id) < (:ended_at, :ended_before)
      union all
      select * from (
        select ${COLUMNS}, ended_at from tasks
          where sponsor_key = :sponsor_key and ended_at is not null
            and (ended_at, task_id) < (:ended_at, :ended_before)
          order by ended_at desc, task_id desc limit :limit
      ) ended
    ) found
    order by over_at desc nulls first, task_id desc limit :limit`,
  values({ sponsorKey, question: { after, limit, now } }, { instant }) {
    const isAmongEnded = after?.endedAt !== undefined;
    return {
      sponsor_key: storable('sponsor_key', sponsorKey),
      now: instant(now),
      // No task id sorts before the empty text: after a page with ended tasks, no live task is read.
      live_before: isAmongEnded ? '' : (after?.taskId ?? LAST_TASK_ID),
      ended_at: instant(after?.endedAt ?? LATEST),
      ended_before: isAmongEnded ? after.taskId : LAST_TASK_ID,
      limit,
    };
  },
  read: (rows: readonly OwnTaskRow[]) => rows.map(toOwnTask),
};

function toOwnTask(row: OwnTaskRow): OwnTask {
  // A task that is over may have no recorded end: the sweeper records its expiry later.
  const isOverdue = row.state === 'live' && row.over_at !== null;
  const { over_at: ended_at, end_reason } = row;
  const state = toTaskState({ state: isOverdue ? 'expired' : row.state, ended_at, end_reason });
  return {
    taskId: row.task_id,
    agentId: row.agent_id,
    displayName: row.display_name ?? undefined,
    audience: row.audience,
    scope: readScope(row.scope),
    startedAt: row.created_at,
    expiresAt: row.expires_at,
    state: state.kind,
    endedAt: row.over_at ?? undefined,
    reason: endReasonOf(state),
    renewals: row.renewals ?? 0,
    renewedAt: row.renewed_at ?? undefined,
  };
}
