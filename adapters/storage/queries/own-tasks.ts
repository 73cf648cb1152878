/** The tasks of a person as the person sees them, and the agents that have them. */

import type {
  OwnAgent,
  OwnLiveTasksQuestion,
  OwnTask,
  OwnTaskPosition,
  OwnTasksById,
  OwnTasksQuestion,
} from '../../../application/ports/tasks.ts';
import type { AgentId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { endReasonOf } from '../../../domain/tasks/lifetime.ts';
import { differenceOfPurpose } from '../../../domain/tasks/purpose.ts';
import type { Dialect, Values } from '../dialect.ts';
import { type TaskAuthorizationRow, toTaskAuthorization } from '../rows/authorization-row.ts';
import { type BindInstant, LATEST, readScope, storable } from '../rows/column.ts';
import { readRecords, recordsOfTask, sha256 } from '../rows/recorded.ts';
import { LAST_TASK_ID, type TaskRow, toTaskState } from '../rows/task-row.ts';
import type { Query } from './query.ts';

interface OwnTaskRow
  extends TaskAuthorizationRow,
    Pick<
      TaskRow,
      | 'task_id'
      | 'agent_id'
      | 'sponsor'
      | 'parent_task_id'
      | 'audience'
      | 'scope'
      | 'created_at'
      | 'expires_at'
      | 'state'
      | 'end_reason'
    > {
  readonly live_below: number;
  /** When the task ended, or its time was up; `null` for a live task. */
  readonly over_at: Instant | null;
  readonly display_name: string | null;
  readonly renewals: number | null;
  readonly renewed_at: Instant | null;
  readonly purpose: string | null;
  readonly salt: string | null;
  readonly records: string | null;
}

const COLUMNS =
  'task_id, agent_id, sponsor, parent_task_id, audience, scope, created_at, expires_at, state, end_reason';

/** The tasks of a select with `COLUMNS` and `over_at`, with what other tables have of them. */
const described = (dialect: Dialect, found: string) => `select ${COLUMNS}, over_at,
      ${recordsOfTask(dialect, 'found')},
      (select count(*) from tasks c
        where c.parent_task_id = found.task_id and c.state = 'live' and c.expires_at > :now) as live_below,
      (select salt from task_purposes p where p.task_id = found.task_id) as salt,
      (select display_name from agents a where a.agent_id = found.agent_id) as display_name,
      (select renewals from task_grants g where g.task_id = found.task_id limit 1) as renewals,
      (select renewed_at from task_grants g where g.task_id = found.task_id limit 1) as renewed_at,
      (select purpose from task_purposes p where p.task_id = found.task_id) as purpose,
      (select rotation_hash from task_grants g where g.task_id = found.task_id limit 1) as rotation_hash,
      (select request_id from authorizations z where z.task_id = found.task_id) as authorization_id,
      (select client from authorizations z where z.task_id = found.task_id) as authorization_client,
      (select redirect_uri from authorizations z where z.task_id = found.task_id) as authorization_uri
    from (
      ${found}
    ) found`;

/**
 * The live tasks of a person: all are read by index, and sorted. The planner reads no index for an expression
 * (`|| ''`): it might otherwise read that of all tasks, or of the agent's tasks for all people.
 */
const LIVE = "sponsor_key = :sponsor_key and state = 'live' and expires_at > :now";
const NEWEST_FIRST = "order by task_id || '' desc limit :limit";

/** The ended tasks of a person: those that no record has ended yet, then those with a recorded end, read along their index. */
const ENDED = `select ${COLUMNS}, expires_at as over_at from tasks
        where sponsor_key = :sponsor_key and state = 'live' and expires_at <= :now
          and (expires_at, task_id) < (:ended_at, :ended_before)
      union all
      select * from (
        select ${COLUMNS}, ended_at from tasks
          where sponsor_key = :sponsor_key and ended_at is not null
            and (ended_at, task_id) < (:ended_at, :ended_before)
          order by ended_at desc, task_id desc limit :limit
      ) ended`;

interface OwnQuestion<Question> {
  readonly sponsorKey: SponsorKey;
  readonly question: Question;
}

const key = (sponsorKey: SponsorKey) => storable('sponsor_key', sponsorKey);

/**
 * A page in one statement, so that a task that ends meanwhile is read once. Each part reads at most `limit` entries of its
 * index, except the live tasks, which are sorted.
 */
export const ownTasks: Query<OwnQuestion<OwnTasksQuestion>, readonly OwnTask[]> = {
  name: 'own_tasks',
  plan: 'by_index',
  text: (dialect) => `${described(
    dialect,
    `select * from (
        select ${COLUMNS}, ended_at as over_at from tasks
          where ${LIVE}
            and task_id || '' < :live_before
          ${NEWEST_FIRST}
      ) live
      union all
      ${ENDED}`,
  )}
    order by over_at desc nulls first, task_id desc limit :limit`,
  values({ sponsorKey, question: { after, limit, now } }, { instant }) {
    const isAmongEnded = after?.endedAt !== undefined;
    return {
      sponsor_key: key(sponsorKey),
      now: instant(now),
      // No task id sorts before the empty text: after a page with ended tasks, no live task is read.
      live_before: isAmongEnded ? '' : (after?.taskId ?? LAST_TASK_ID),
      ...endedBefore(after, instant),
      limit,
    };
  },
  read: (rows: readonly OwnTaskRow[]) => rows.map(toOwnTask),
};

export const ownLiveTasks: Query<OwnQuestion<OwnLiveTasksQuestion>, readonly OwnTask[]> = {
  plan: 'by_index',
  text: (dialect, { question: { agentId } }) =>
    `${described(
      dialect,
      `select ${COLUMNS}, ended_at as over_at from tasks
        where ${LIVE}
          and ${agentId === undefined ? '' : "agent_id || '' = :agent_id and "}task_id || '' < :before
        ${NEWEST_FIRST}`,
    )}
    order by task_id desc`,
  values: ({ sponsorKey, question: { agentId, after = LAST_TASK_ID, limit, now } }, { instant }) => ({
    sponsor_key: key(sponsorKey),
    agent_id: agentId,
    before: after,
    now: instant(now),
    limit,
  }),
  read: (rows: readonly OwnTaskRow[]) => rows.map(toOwnTask),
};

export const ownEndedTasks: Query<OwnQuestion<OwnTasksQuestion>, readonly OwnTask[]> = {
  name: 'own_ended_tasks',
  plan: 'by_index',
  text: (dialect) => `${described(dialect, ENDED)}
    order by over_at desc, task_id desc limit :limit`,
  values: ({ sponsorKey, question: { after, limit, now } }, { instant }) => ({
    sponsor_key: key(sponsorKey),
    now: instant(now),
    ...endedBefore(after, instant),
    limit,
  }),
  read: (rows: readonly OwnTaskRow[]) => rows.map(toOwnTask),
};

/** Each task is looked up by its id. */
export const ownTasksById: Query<OwnQuestion<OwnTasksById>, readonly OwnTask[]> = {
  name: 'own_tasks_by_id',
  plan: 'by_index',
  text: (dialect) =>
    described(
      dialect,
      `select ${COLUMNS}, case when state = 'live' and expires_at > :now then null else coalesce(ended_at, expires_at) end as over_at
        from tasks where task_id ${dialect.among(dialect.texts(':task_ids'))} and sponsor_key || '' = :sponsor_key`,
    ),
  values: ({ sponsorKey, question: { taskIds, now } }, { instant }) => ({
    sponsor_key: key(sponsorKey),
    task_ids: JSON.stringify(taskIds),
    now: instant(now),
  }),
  read: (rows: readonly OwnTaskRow[]) => rows.map(toOwnTask),
};

/** The position of an ended task. After a live one, or at the beginning, all ended tasks follow. */
function endedBefore(after: OwnTaskPosition | undefined, instant: BindInstant): Values {
  return {
    ended_at: instant(after?.endedAt ?? LATEST),
    ended_before: after?.endedAt === undefined ? LAST_TASK_ID : after.taskId,
  };
}

interface OwnAgentRow {
  readonly agent_id: AgentId;
  readonly display_name: string | null;
  readonly tasks: number;
  readonly newest: TaskId;
  readonly active_at: Instant;
}

/** Reads all live tasks of the person, each with its grant. */
export const ownAgents: Query<{ readonly sponsorKey: SponsorKey; readonly now: Instant }, readonly OwnAgent[]> = {
  name: 'own_agents',
  plan: 'by_index',
  text: `select agent_id, count(*) as tasks, max(task_id) as newest, max(active_at) as active_at,
      (select display_name from agents a where a.agent_id = live.agent_id) as display_name
    from (
      select agent_id, task_id,
          coalesce((select max(renewed_at) from task_grants g where g.task_id = t.task_id), created_at) as active_at
        from tasks t where ${LIVE}
    ) live
    group by agent_id order by newest desc`,
  values: ({ sponsorKey, now }, { instant }) => ({ sponsor_key: key(sponsorKey), now: instant(now) }),
  read: (rows: readonly OwnAgentRow[]) =>
    rows.map((row) => ({
      agentId: row.agent_id,
      displayName: row.display_name ?? undefined,
      tasks: row.tasks,
      newestTask: row.newest,
      activeAt: row.active_at,
    })),
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
    parentTaskId: row.parent_task_id ?? undefined,
    liveBelow: row.live_below,
    ...comparedPurpose(row),
    ...toTaskAuthorization(row),
  };
}

function comparedPurpose(row: OwnTaskRow): Pick<OwnTask, 'purpose' | 'purposeDiffers'> {
  const { task_id: taskId, agent_id: agentId, created_at: createdAt, sponsor, purpose: words, salt } = row;
  if (words === null || salt === null) return { purpose: undefined, purposeDiffers: undefined };
  const stated = { taskId, agentId, sponsor, createdAt, words, salt };
  const difference = differenceOfPurpose(sha256, stated, readRecords(row.records));
  return { purpose: difference === undefined ? words : undefined, purposeDiffers: difference };
}
