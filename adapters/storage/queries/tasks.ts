/** Queries of tasks, their grants and tokens. `own-tasks.ts`, `task-list.ts` and `task-tree.ts` have the lists. */

import type { ChainedTask, LiveTaskCount, LiveTasksQuestion, Tasks } from '../../../application/ports/tasks.ts';
import { MAX_DELEGATION_DEPTH } from '../../../domain/agents/agent.ts';
import type { AgentId, SponsorKey, TaskId, TokenId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Grant, GrantHash, RevocationReason } from '../../../domain/tasks/task.ts';
import type { StoredTokenFacts } from '../../../domain/tasks/task-token.ts';
import type { Dialect } from '../dialect.ts';
import { TASK_AUTHORIZATION, type TaskAuthorizationRow, toTaskAuthorization } from '../rows/authorization-row.ts';
import { readScope, storable } from '../rows/column.ts';
import {
  type TaskRow,
  type TaskStateRow,
  type TermsRow,
  taskColumns,
  termsColumns,
  toRevocation,
  toRotation,
  toTask,
  toTaskState,
  toTerms,
} from '../rows/task-row.ts';
import { ownAgents, ownEndedTasks, ownLiveTasks, ownTasks, ownTasksById } from './own-tasks.ts';
import type { Ask, Query } from './query.ts';
import { findListedTask, listTasks } from './task-list.ts';
import { taskTree } from './task-tree.ts';

/** A grant joined with its task. */
interface GrantRow extends TaskRow, TaskAuthorizationRow {
  readonly grant_scope: string;
  readonly previous_hash: string | null;
  readonly renewals: number;
  readonly revoked_at: Instant | null;
}

const GRANT_COLUMNS = `${taskColumns.map((column) => `t.${column}`).join(', ')}, g.scope as grant_scope, g.renewals, g.revoked_at,
      g.previous_hash, ${TASK_AUTHORIZATION}`;

interface GrantName {
  readonly agentId: AgentId;
  readonly grantHash: GrantHash;
}

export const findGrant: Query<GrantName, Grant | undefined> = {
  name: 'find_grants',
  key: { grant_hash: 'text', agent_id: 'text' },
  text: `select ${GRANT_COLUMNS} from task_grants g join tasks t using (task_id)
    left join authorizations z on z.task_id = t.task_id
    where g.grant_hash = :grant_hash and t.agent_id = :agent_id`,
  values: ({ agentId, grantHash }) => ({ grant_hash: grantHash, agent_id: agentId }),
  read: ([row]: readonly GrantRow[]) =>
    row && {
      task: { ...toTask(row), ...toTaskAuthorization(row) },
      taskState: toTaskState(row),
      revokedAt: row.revoked_at ?? undefined,
      scope: readScope(row.grant_scope),
      renewals: row.renewals,
      ...toRotation(row),
    },
};

export const rotates: Query<TaskId, boolean> = {
  name: 'rotates',
  plan: 'by_index',
  text: 'select 1 from task_grants where task_id = :task_id and rotation_hash is not null',
  values: (taskId) => ({ task_id: taskId }),
  read: (rows) => rows.length > 0,
};

interface ChainRow extends TaskRow {
  readonly grant_scope: string;
  readonly grant_hash: GrantHash;
  readonly enabled: boolean | number | null;
}

/** Each task is looked up by key. The greatest depth ends the walk at a row that was altered to be its own parent. */
export const chainOfTask: Query<TaskId, readonly ChainedTask[]> = {
  name: 'chain_of_task',
  plan: 'by_index',
  text: ({ lookUp }) => `with recursive chain (task_id, parent_task_id, above) as (
      select task_id, parent_task_id, 0 from tasks where task_id = :task_id
      union all
      select p.task_id, p.parent_task_id, chain.above + 1
        from chain ${lookUp('tasks', 'p', 'p.task_id = chain.parent_task_id')} where chain.above < ${MAX_DELEGATION_DEPTH}
    )
    select ${taskColumns.map((column) => `t.${column}`).join(', ')}, g.scope as grant_scope, g.grant_hash,
        (select a.enabled from agents a where a.agent_id = t.agent_id) as enabled
      from chain ${lookUp('tasks', 't', 't.task_id = chain.task_id')}
        ${lookUp('task_grants', 'g', 'g.task_id = t.task_id')}
      order by chain.above`,
  values: (taskId) => ({ task_id: taskId }),
  read: (rows: readonly ChainRow[]) =>
    rows.map((row) => ({
      task: toTask(row),
      state: toTaskState(row),
      scope: readScope(row.grant_scope),
      grantHash: row.grant_hash,
      agentEnabled: Boolean(row.enabled),
    })),
};

export const findSponsor: Query<TaskId, SponsorKey | undefined> = {
  name: 'find_sponsor',
  text: 'select sponsor_key from tasks where task_id = :task_id',
  values: (taskId) => ({ task_id: taskId }),
  read: ([row]: readonly { readonly sponsor_key: SponsorKey }[]) => row?.sponsor_key,
};

interface TokenFactsRow extends TaskStateRow, TermsRow {
  readonly enabled: boolean | number | null;
  readonly token_revoked_at: Instant | null;
  readonly token_reason: RevocationReason | null;
}

const TOKEN_FACTS = `${termsColumns.map((column) => `t.${column}`).join(', ')}, t.state, t.ended_at, t.end_reason, a.enabled,
      r.revoked_at as token_revoked_at, r.reason as token_reason`;

interface TokenName {
  readonly tokenId: TokenId;
  readonly taskId: TaskId;
}

export const tokenFacts: Query<TokenName, StoredTokenFacts | undefined> = {
  name: 'token_facts',
  key: { task_id: 'text', jti: 'text' },
  text: `select ${TOKEN_FACTS} from tasks t
    left join agents a using (agent_id) left join revoked_tokens r on r.jti = :jti where t.task_id = :task_id`,
  values: ({ tokenId, taskId }) => ({ task_id: taskId, jti: tokenId }),
  read: ([row]: readonly TokenFactsRow[]) =>
    row && {
      tokenRevocation: toRevocation(row.token_revoked_at, row.token_reason),
      task: toTerms(row),
      taskState: toTaskState(row),
      agentEnabled: Boolean(row.enabled),
    },
};

interface LiveTaskCountRow {
  readonly tasks: number;
  readonly last_expiry: Instant | null;
  readonly longest_token_ttl: number | null;
}

/**
 * Only the count of all may use the index by expiry (`ended_at is null`). For one agent or person Postgres might choose it,
 * and read all live tasks.
 */
function ofWhom(of: LiveTasksQuestion['of']): string {
  if (of === undefined) return 't.ended_at is null';
  if ('endOf' in of) return 'true';
  return 'agentId' in of ? 't.agent_id = :agent_id' : 't.sponsor_key = :sponsor_key';
}

/** The tasks that an end reaches. The tasks of one agent may be below each other. */
function treeOf({ lookUp }: Dialect, of: LiveTasksQuestion['of']): string {
  if (of === undefined || !('endOf' in of)) return '';
  const roots = 'taskId' in of.endOf ? 'task_id = :task_id' : "agent_id = :agent_id and state = 'live'";
  return `with recursive tree (task_id) as (
      select task_id from tasks where ${roots}
      union
      select c.task_id from tree ${lookUp('tasks', 'c', 'c.parent_task_id = tree.task_id')}
    ) `;
}

function tasksOf({ lookUp }: Dialect, of: LiveTasksQuestion['of']): string {
  return of !== undefined && 'endOf' in of ? `tree ${lookUp('tasks', 't', 't.task_id = tree.task_id')}` : 'tasks t';
}

export const countLiveTasks: Query<LiveTasksQuestion, LiveTaskCount> = {
  plan: 'by_index',
  text: (dialect, { of }) => `${treeOf(dialect, of)}select count(*) as tasks, max(expires_at) as last_expiry,
      max(max_token_ttl) as longest_token_ttl
    from (
      select t.expires_at, a.max_token_ttl from ${tasksOf(dialect, of)} left join agents a on a.agent_id = t.agent_id
        where t.state = 'live' and t.expires_at > :now and ${ofWhom(of)} limit :most
    ) counted`,
  values: ({ of = {}, now, most }, { instant }) => {
    const { agentId, taskId, sponsorKey }: Partial<Record<'agentId' | 'taskId' | 'sponsorKey', string>> =
      'endOf' in of ? of.endOf : of;
    return {
      now: instant(now),
      most,
      agent_id: agentId,
      task_id: taskId,
      sponsor_key: sponsorKey === undefined ? undefined : storable('sponsor_key', sponsorKey),
    };
  },
  read: ([row]: readonly LiveTaskCountRow[]) => ({
    tasks: row?.tasks ?? 0,
    lastExpiry: row?.last_expiry ?? undefined,
    longestTokenTtl: row?.longest_token_ttl ?? undefined,
  }),
};

/**
 * Steps from one key to the next along the index by person, so a person with many tasks costs as much as one with few.
 * Without the lower bound of the first step Postgres would not use the index, which is partial.
 */
export const livePeople: Query<number, readonly SponsorKey[]> = {
  plan: 'in_order',
  text: ({ noJoin }) => `with recursive people (sponsor_key, nth) as (
      select (select min(sponsor_key) from tasks where sponsor_key >= ''), 1
      union all
      select (select min(t.sponsor_key) from tasks t where t.sponsor_key > people.sponsor_key), nth + 1
        from people where people.sponsor_key is not null and nth < :most
    )
    select sponsor_key from people
      where exists (select 1 from tasks t where t.sponsor_key = people.sponsor_key and t.state = 'live' ${noJoin})`,
  values: (most) => ({ most }),
  read: (rows: readonly { readonly sponsor_key: SponsorKey }[]) => rows.map(({ sponsor_key }) => sponsor_key),
};

export function tasks(ask: Ask): Tasks {
  return {
    findGrant: (agentId, grantHash) => ask(findGrant, { agentId, grantHash }),
    rotates: (taskId) => ask(rotates, taskId),
    chain: (taskId) => ask(chainOfTask, taskId),
    findSponsor: (taskId) => ask(findSponsor, taskId),
    tokenFacts: (tokenId, taskId) => ask(tokenFacts, { tokenId, taskId }),
    ofSponsor: (sponsorKey, question) => ask(ownTasks, { sponsorKey, question }),
    agentsOfSponsor: (sponsorKey, now) => ask(ownAgents, { sponsorKey, now }),
    liveOfSponsor: (sponsorKey, question) => ask(ownLiveTasks, { sponsorKey, question }),
    endedOfSponsor: (sponsorKey, question) => ask(ownEndedTasks, { sponsorKey, question }),
    ofSponsorById: (sponsorKey, question) => ask(ownTasksById, { sponsorKey, question }),
    list: (question) => ask(listTasks, question),
    findListed: (taskId, now) => ask(findListedTask, { taskId, now }),
    tree: (question) => ask(taskTree, question),
    livePeople: (most) => ask(livePeople, most),
    countLive: (question) => ask(countLiveTasks, question),
  };
}
