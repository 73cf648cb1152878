/** Applies the effects of decisions (application/decisions/effect.ts) to SQLite. */

import {
  byEnd,
  EFFECT_ORDER,
  type Effect,
  type EffectName,
  type Effects,
} from '../../../application/decisions/effect.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import type { ProvisionedUser } from '../../../domain/signals/provisioned-user.ts';
import { agentColumnNames, agentColumns } from '../rows/agent-row.ts';
import { scopeColumn, storable } from '../rows/column.ts';
import { logKeyColumns, logKeyValues } from '../rows/log-row.ts';
import { provisionedUserColumnNames, provisionedUserColumns } from '../rows/provisioned-user-row.ts';
import { sessionColumnNames, sessionColumns } from '../rows/session-row.ts';
import { insertedTaskColumns, taskValues } from '../rows/task-row.ts';
import { bindInstant } from './connection.ts';
import type { Run } from './handle.ts';
import { appendEnds, appendEntries, appendOperatorAct, lastNumber } from './ledger.ts';
import { ENDED_AT_ONCE } from './limits.ts';

/**
 * @param deadline by `performance.now()`, for effects on very many rows. The first portion ignores it
 * @throws StorageUnavailable after the deadline. The decision is then rolled back, and is not retried
 */
export function applyEffects(run: Run, effects: readonly Effect[], deadline: number): void {
  const isActed = effects.some(({ effect }) => effect === 'operator_act');
  const applying = { deadline, before: isActed ? lastNumber(run) : 0 };
  for (const name of EFFECT_ORDER) {
    for (const effect of effects) if (effect.effect === name) apply(run, effect, applying);
  }
}

interface Applying {
  readonly deadline: number;
  /** The number of the last record before this decision, if it records an operator's act. */
  readonly before: number;
}

type Appliers = { readonly [Name in EffectName]: (run: Run, effect: Effects[Name], applying: Applying) => void };

function apply<Name extends EffectName>(
  run: Run,
  effect: { readonly effect: Name } & Effects[Name],
  applying: Applying,
): void {
  appliers[effect.effect](run, effect, applying);
}

const insertAssertion = 'insert into spent_assertions (agent_id, jti, forget_at) values (?, ?, ?)';

const insertSignal = 'insert into accepted_signals (receiver, issuer, jti, forget_at) values (?, ?, ?, ?)';

const insertTask = insertInto('tasks', insertedTaskColumns);
const insertGrant = 'insert into task_grants (grant_hash, task_id, scope) values (?, ?, ?)';
const updateGrant =
  'update task_grants set scope = ?, renewals = ?, unrecorded = ?, renewed_at = ? where grant_hash = ?';

/** The parameter is a JSON array of task ids. */
const GIVEN_TASKS = 'where task_id in (select value from json_each(?))';
const updateToRevoked = `update tasks set state = 'revoked', ended_at = ?, end_reason = ? ${GIVEN_TASKS}`;
const updateToExpired = `update tasks set state = 'expired', ended_at = expires_at ${GIVEN_TASKS}`;
const revokeGrants = `update task_grants set revoked_at = ? ${GIVEN_TASKS}`;
const deleteGrants = `delete from task_grants ${GIVEN_TASKS}`;
const deleteTasks = `delete from tasks ${GIVEN_TASKS}`;

const insertToken = `insert into revoked_tokens (jti, task_id, revoked_at, reason, forget_at, status_list)
  values (?, ?, ?, ?, ?, (select status_list from tasks where task_id = ?))`;

const putBlock = `insert into sponsor_blocks (sponsor_key, source, kind, blocked_at, stated_at) values (?, ?, ?, ?, ?)
  on conflict (sponsor_key, source) do update set
    kind = excluded.kind, blocked_at = excluded.blocked_at, stated_at = excluded.stated_at`;
const deleteBlock = 'delete from sponsor_blocks where sponsor_key = ? and source = ?';

const putPendingUnblock = `insert into pending_unblocks (sponsor_key, iss, sub, operator_key, forget_at) values (?, ?, ?, ?, ?)
  on conflict (sponsor_key) do update
    set iss = excluded.iss, sub = excluded.sub, operator_key = excluded.operator_key, forget_at = excluded.forget_at`;
const removePendingUnblock = 'delete from pending_unblocks where sponsor_key = ?';

const putLogout = `insert into logouts (kind, name, stated_at, forget_at) values (?, ?, ?, ?)
  on conflict (kind, name) do update set stated_at = excluded.stated_at, forget_at = excluded.forget_at`;

const insertSession = insertInto('sessions', sessionColumnNames);
const renewSession = 'update sessions set last_used_at = ?, expires_at = ? where session_hash = ?';
const closeSession = 'delete from sessions where session_hash = ?';

const insertAgent = insertInto('agents', agentColumnNames);
const updateAgent = `update agents set ${agentColumnNames.map((name) => `${name} = ?`).join(', ')} where agent_id = ?`;

const userColumnNames = [...provisionedUserColumnNames, 'user_name_key'] as const;
const insertUser = insertInto('provisioned_users', userColumnNames);
const updateUser = `update provisioned_users set ${userColumnNames.map((name) => `${name} = ?`).join(', ')}
  where user_id = ?`;

const insertStatusList = insertInto('status_lists', ['list_id', 'audience', 'entries', 'created_at']);
const closeStatusList = 'update status_lists set closed_at = ? where list_id = ?';

const putLogKey = `${insertInto('log_keys', logKeyColumns)}
  on conflict (use, kid, thumbprint) do update set active_from = excluded.active_from, active_to = excluded.active_to`;

const appliers: Appliers = {
  spend_assertion: (run, { agentId, jti, forgetAt }) => run(insertAssertion, [agentId, storable('jti', jti), forgetAt]),

  accept_signal: (run, { receiver, issuer, jti, forgetAt }) =>
    run(insertSignal, [receiver, storable('issuer', issuer), storable('jti', jti), forgetAt]),

  insert_task: (run, { task, grantHash }) => {
    run(insertTask, taskValues(task, bindInstant));
    run(insertGrant, [grantHash, task.taskId, scopeColumn(task.scope)]);
  },

  update_grant: (run, { grantHash, scope, renewals, unrecorded, renewedAt }) =>
    run(updateGrant, [scopeColumn(scope), renewals, unrecorded, renewedAt, grantHash]),

  end_tasks: (run, { tasks, at }, { deadline }) =>
    inPortions(tasks, ENDED_AT_ONCE, deadline, (some) => {
      for (const [end, taskIds] of byEnd(some)) {
        const ended = JSON.stringify(taskIds);
        if (end.state === 'revoked') run(updateToRevoked, [at, end.record.reason, ended]);
        else run(updateToExpired, [ended]);
        run(revokeGrants, [at, ended]);
      }
    }),

  delete_tasks: (run, { taskIds }) => {
    const deleted = JSON.stringify(taskIds);
    // The grants first, because their foreign key refers to the task.
    run(deleteGrants, [deleted]);
    run(deleteTasks, [deleted]);
  },

  revoke_token: (run, { tokenId, taskId, at, reason, forgetAt }) =>
    run(insertToken, [tokenId, taskId, at, reason, forgetAt, taskId]),

  put_block: (run, { sponsorKey, source, kind, blockedAt, statedAt }) =>
    run(putBlock, [storable('sponsor_key', sponsorKey), source, kind, blockedAt, statedAt]),

  remove_block: (run, { sponsorKey, source }) => run(deleteBlock, [storable('sponsor_key', sponsorKey), source]),

  put_pending_unblock: (run, { sponsorKey, issuer, subject, operatorKey, forgetAt }) =>
    run(putPendingUnblock, [
      storable('sponsor_key', sponsorKey),
      storable('iss', issuer),
      storable('sub', subject),
      storable('operator_key', operatorKey),
      forgetAt,
    ]),
  remove_pending_unblock: (run, { sponsorKey }) => run(removePendingUnblock, [storable('sponsor_key', sponsorKey)]),

  put_logout: (run, { kind, name, statedAt, forgetAt }) =>
    run(putLogout, [kind, storable('name', name), statedAt, forgetAt]),

  close_session: (run, { sessionHash }) => run(closeSession, [sessionHash]),
  insert_session: (run, session) => {
    const columns = sessionColumns(session, bindInstant);
    run(
      insertSession,
      sessionColumnNames.map((name) => columns[name]),
    );
  },
  renew_session: (run, { sessionHash, lastUsedAt, expiresAt }) =>
    run(renewSession, [lastUsedAt, expiresAt, sessionHash]),

  insert_agent: (run, agent) => run(insertAgent, agentValues(agent)),
  replace_agent: (run, agent) => run(updateAgent, [...agentValues(agent), agent.agentId]),
  remove_agent: (run, { agentId }) => run('delete from agents where agent_id = ?', [agentId]),

  insert_user: (run, user) => run(insertUser, userValues(user)),
  replace_user: (run, user) => run(updateUser, [...userValues(user), user.userId]),
  remove_user: (run, { userId }) => run('delete from provisioned_users where user_id = ?', [userId]),

  insert_status_list: (run, { listId, audience, entries, at }) =>
    run(insertStatusList, [listId, storable('audience', audience), entries, at]),
  close_status_list: (run, { listId, at }) => run(closeStatusList, [at, listId]),

  put_log_key: (run, key) => {
    const values = logKeyValues(key, bindInstant);
    run(
      putLogKey,
      logKeyColumns.map((name) => values[name]),
    );
  },

  append: (run, { entries, ended }, { deadline }) => {
    appendEntries(run, entries);
    if (ended === undefined) return;
    inPortions(ended.tasks, ENDED_AT_ONCE, deadline, (some) => appendEnds(run, { ...ended, tasks: some }));
  },

  operator_act: (run, act, { before }) => appendOperatorAct(run, act, before),
};

function inPortions<Item>(
  items: readonly Item[],
  size: number,
  deadline: number,
  apply: (some: readonly Item[]) => void,
): void {
  for (let done = 0; done < items.length; done += size) {
    if (done > 0 && performance.now() > deadline) throw new StorageUnavailable('There are too many tasks to end');
    apply(items.slice(done, done + size));
  }
}

function insertInto(table: string, columns: readonly string[]): string {
  return `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`;
}

function agentValues(agent: Agent) {
  const columns = agentColumns(agent, bindInstant);
  return agentColumnNames.map((name) => columns[name]);
}

function userValues(user: ProvisionedUser) {
  const columns = provisionedUserColumns(user, bindInstant);
  return userColumnNames.map((name) => columns[name] ?? null);
}
