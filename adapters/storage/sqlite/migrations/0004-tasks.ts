/** Tasks with their grants, revoked tokens and spent assertions (specification "Task (stored)", "Token"). */

import type { Migration } from '../../rows/migrations.ts';

export const tasks: Migration = {
  name: '0004-tasks',
  statements: [
    `create table tasks (
      task_id text primary key,
      agent_id text not null,
      sponsor_key text not null,
      sponsor text not null,
      session_id text,
      parent_task_id text,
      audience text not null,
      scope text not null,
      delegation_depth integer not null,
      created_at integer not null,
      expires_at integer not null,
      state text not null default 'live',
      ended_at integer,
      end_reason text,
      constraint tasks_state check (
        state = 'live' and ended_at is null and end_reason is null
        or state = 'revoked' and ended_at is not null and end_reason is not null
        or state = 'expired' and ended_at is not null and end_reason is null
      )
    ) strict, without rowid`,
    `create index tasks_by_agent on tasks (agent_id, state)`,
    `create index tasks_live_by_sponsor on tasks (sponsor_key) where state = 'live'`,
    `create index tasks_live_by_session on tasks (session_id) where state = 'live' and session_id is not null`,
    `create index tasks_by_parent on tasks (parent_task_id) where parent_task_id is not null`,
    `create index tasks_live_by_expiry on tasks (expires_at) where state = 'live'`,
    `create index tasks_by_end on tasks (ended_at) where ended_at is not null`,

    `create table task_grants (
      -- SHA-256 of the grant, in lowercase hex.
      grant_hash text primary key,
      task_id text not null references tasks,
      scope text not null,
      renewals integer not null default 0,
      -- Those of them that have no record of their own.
      unrecorded integer not null default 0,
      revoked_at integer
    ) strict, without rowid`,
    `create index task_grants_by_task on task_grants (task_id)`,

    `create table revoked_tokens (
      jti text primary key,
      task_id text not null,
      revoked_at integer not null,
      reason text not null,
      -- When nobody would take the token any more, and this may be forgotten.
      forget_at integer not null
    ) strict, without rowid`,
    `create index revoked_tokens_by_forgetting on revoked_tokens (forget_at)`,

    `create table spent_assertions (
      agent_id text not null,
      jti text not null,
      forget_at integer not null,
      primary key (agent_id, jti)
    ) strict, without rowid`,
    `create index spent_assertions_by_forgetting on spent_assertions (forget_at)`,
  ],
};
