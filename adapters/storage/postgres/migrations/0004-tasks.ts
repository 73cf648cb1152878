/** Tasks with their grants, revoked tokens and spent assertions (specification "Task (stored)", "Token"). */

import type { Migration } from '../../rows/migrations.ts';

export const tasks: Migration = {
  name: '0004-tasks',
  statements: [
    // No foreign key to the agent: it would lock the agent's row in every exchange. The agent's advisory lock, under
    // which an agent is removed only when it has no task, does as much.
    `create table tasks (
      task_id text collate "C" primary key,
      agent_id text collate "C" not null,
      sponsor_key text collate "C" not null,
      sponsor text not null,
      session_id text collate "C",
      parent_task_id text collate "C",
      audience text not null,
      scope text not null,
      delegation_depth integer not null,
      created_at timestamptz not null,
      expires_at timestamptz not null,
      state text not null default 'live',
      ended_at timestamptz,
      end_reason text,
      constraint tasks_state check (
        state = 'live' and ended_at is null and end_reason is null
        or state = 'revoked' and ended_at is not null and end_reason is not null
        or state = 'expired' and ended_at is not null and end_reason is null
      )
    )`,
    // Most of these keys cannot be null. Saying so keeps an index from lookups that don't name its key: all of these say
    // something of the state, and a planner that takes the table for empty may read one of them whole to find a live task by
    // its id.
    `create index tasks_by_agent on tasks (agent_id, state) where agent_id is not null`,
    `create index tasks_live_by_sponsor on tasks (sponsor_key) where state = 'live' and sponsor_key is not null`,
    `create index tasks_live_by_session on tasks (session_id) where state = 'live' and session_id is not null`,
    `create index tasks_by_parent on tasks (parent_task_id) where parent_task_id is not null`,
    // For whoever looks for a time that is over, and nobody else: statistics always lag behind the newest tasks, so
    // that a planner takes those that expire later for none, and would read all that are live to find one of them. Their
    // condition is the state's, this one says the same in words that do not match it.
    `create index tasks_by_expiry on tasks (expires_at) where ended_at is null`,
    `create index tasks_by_end on tasks (ended_at) where ended_at is not null`,

    `create table task_grants (
      -- SHA-256 of the grant, in lowercase hex.
      grant_hash text collate "C" primary key,
      task_id text collate "C" not null references tasks,
      scope text not null,
      renewals integer not null default 0,
      -- Those of them that have no record of their own.
      unrecorded integer not null default 0,
      revoked_at timestamptz
    ) with (fillfactor = 90)`,
    `create index task_grants_by_task on task_grants (task_id)`,

    `create table revoked_tokens (
      jti text collate "C" primary key,
      task_id text collate "C" not null,
      revoked_at timestamptz not null,
      reason text not null,
      -- When nobody would take the token any more, and this may be forgotten.
      forget_at timestamptz not null
    )`,
    `create index revoked_tokens_by_forgetting on revoked_tokens (forget_at)`,

    `create table spent_assertions (
      agent_id text collate "C" not null,
      jti text collate "C" not null,
      forget_at timestamptz not null,
      primary key (agent_id, jti)
    )`,
    `create index spent_assertions_by_forgetting on spent_assertions (forget_at)`,
  ],
};
