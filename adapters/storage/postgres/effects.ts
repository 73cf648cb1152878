/**
 * The statements that apply the effects of decisions (application/decisions/effect.ts) to Postgres. Effects of one kind
 * share a statement where possible.
 */

import type { Knex } from 'knex';
import {
  byEnd,
  EFFECT_ORDER,
  type Effect,
  type EffectName,
  type Effects,
} from '../../../application/decisions/effect.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import { deleteAgent, insertAgent, replaceAgent } from '../rows/agent-row.ts';
import { type Bound, scopeColumn, storable } from '../rows/column.ts';
import { logKeyColumns, logKeyValues } from '../rows/log-row.ts';
import { provisionedUserColumns } from '../rows/provisioned-user-row.ts';
import { sessionColumnNames, sessionColumns } from '../rows/session-row.ts';
import { insertedTaskColumns, taskValues } from '../rows/task-row.ts';
import { bindInstant } from './column-types.ts';
import type { Statement } from './connections.ts';
import { appendEnds, appendEntries, appendOperatorAct } from './ledger.ts';
import { ENDED_AT_ONCE } from './limits.ts';

type Statements = {
  readonly [Name in EffectName]: (effects: readonly Effects[Name][], knex: Knex) => Iterable<Statement>;
};

/** Yields the statements in the order in which they must run (`EFFECT_ORDER`). */
export function* statementsOf(effects: readonly Effect[], knex: Knex): Generator<Statement> {
  for (const name of EFFECT_ORDER) {
    const ofKind = effects.filter(({ effect }) => effect === name);
    if (ofKind.length > 0) yield* (statements[name] as Statements['append'])(ofKind as never, knex);
  }
}

/** Inserts rows from `$1`, a JSON array of objects with the columns as members. */
const insertInto = (table: string, columns: readonly string[], conflict = '') => ({
  name: `insert_${table}`,
  text: `insert into ${table} (${columns.join(', ')})
    select ${columns.join(', ')} from json_populate_recordset(null::${table}, $1::json) ${conflict}`,
});

const insertAssertions = insertInto('spent_assertions', ['agent_id', 'jti', 'forget_at']);
const insertSignals = insertInto('accepted_signals', ['receiver', 'issuer', 'jti', 'forget_at']);
const taskColumnTypes: Partial<Record<(typeof insertedTaskColumns)[number], string>> = {
  delegation_depth: 'integer',
  created_at: 'timestamptz',
  expires_at: 'timestamptz',
  status_index: 'integer',
};
/** Inserts tasks and their grants together: foreign keys are checked at the end of the statement. */
const insertTasks = {
  name: 'insert_tasks',
  text: `with opened as materialized (
      select * from json_to_recordset($1::json) as q (
        grant_hash text, ${insertedTaskColumns.map((column) => `${column} ${taskColumnTypes[column] ?? 'text'}`).join(', ')}
      )
    ), tasks_inserted as (
      insert into tasks (${insertedTaskColumns.join(', ')}) select ${insertedTaskColumns.join(', ')} from opened
    )
    insert into task_grants (grant_hash, task_id, scope) select grant_hash, task_id, scope from opened`,
};
const insertTokens = {
  name: 'insert_revoked_tokens',
  text: `insert into revoked_tokens (jti, task_id, revoked_at, reason, forget_at, status_list)
    select jti, task_id, revoked_at, reason, forget_at, (select t.status_list from tasks t where t.task_id = q.task_id)
      from json_populate_recordset(null::revoked_tokens, $1::json) q`,
};
const putBlocks = insertInto(
  'sponsor_blocks',
  ['sponsor_key', 'source', 'kind', 'blocked_at', 'stated_at'],
  `on conflict (sponsor_key, source) do update
    set kind = excluded.kind, blocked_at = excluded.blocked_at, stated_at = excluded.stated_at`,
);
const putPendingUnblocks = insertInto(
  'pending_unblocks',
  ['sponsor_key', 'iss', 'sub', 'operator_key', 'forget_at'],
  `on conflict (sponsor_key) do update
    set iss = excluded.iss, sub = excluded.sub, operator_key = excluded.operator_key, forget_at = excluded.forget_at`,
);
const putLogouts = insertInto(
  'logouts',
  ['kind', 'name', 'stated_at', 'forget_at'],
  'on conflict (kind, name) do update set stated_at = excluded.stated_at, forget_at = excluded.forget_at',
);

const insertSessions = insertInto('sessions', sessionColumnNames);
const renewSession = {
  name: 'renew_session',
  text: 'update sessions set last_used_at = $2, expires_at = $3 where session_hash = $1',
};
const closeSession = { name: 'close_session', text: 'delete from sessions where session_hash = $1' };

const insertStatusLists = insertInto('status_lists', ['list_id', 'audience', 'entries', 'created_at']);
const closeStatusList = {
  name: 'close_status_list',
  text: 'update status_lists set closed_at = $2 where list_id = $1',
};

const putLogKeys = insertInto(
  'log_keys',
  logKeyColumns,
  'on conflict (use, kid, thumbprint) do update set active_from = excluded.active_from, active_to = excluded.active_to',
);

const updateGrants = {
  name: 'update_grants',
  text: `update task_grants g set (scope, renewals, unrecorded, renewed_at) = (
      select q.scope, q.renewals, q.unrecorded, q.renewed_at
        from json_to_recordset($1::json) as q (
          grant_hash text, scope text, renewals integer, unrecorded integer, renewed_at timestamptz
        )
        where q.grant_hash = g.grant_hash
    ) where grant_hash = any (array(select value ->> 'grant_hash' from json_array_elements($1::json)))`,
};

/** `$1` is a JSON array of task ids. */
const GIVEN = 'where task_id = any (array(select json_array_elements_text($1::json)))';
const revokeGrants = { name: 'revoke_grants', text: `update task_grants set revoked_at = $2 ${GIVEN}` };
const updateToRevoked = {
  name: 'revoke_tasks',
  text: `update tasks set state = 'revoked', ended_at = $2, end_reason = $3 ${GIVEN}`,
};
const updateToExpired = {
  name: 'expire_tasks',
  text: `update tasks set state = 'expired', ended_at = expires_at ${GIVEN}`,
};
const deleteGrants = { name: 'delete_grants', text: `delete from task_grants ${GIVEN}` };
const deleteTasks = { name: 'delete_tasks', text: `delete from tasks ${GIVEN}` };
const removeBlock = { name: 'remove_block', text: 'delete from sponsor_blocks where sponsor_key = $1 and source = $2' };

const removePendingUnblock = {
  name: 'remove_pending_unblock',
  text: 'delete from pending_unblocks where sponsor_key = $1',
};

const statements: Statements = {
  spend_assertion: (effects) => [
    {
      query: insertAssertions,
      values: [
        rows(effects, ({ agentId, jti, forgetAt }) => ({
          agent_id: agentId,
          jti: storable('jti', jti),
          forget_at: bindInstant(forgetAt),
        })),
      ],
    },
  ],

  accept_signal: (effects) => [
    {
      query: insertSignals,
      values: [
        rows(effects, ({ receiver, issuer, jti, forgetAt }) => ({
          receiver,
          issuer: storable('issuer', issuer),
          jti: storable('jti', jti),
          forget_at: bindInstant(forgetAt),
        })),
      ],
    },
  ],

  insert_task: (effects) => [
    {
      query: insertTasks,
      values: [
        rows(effects.toSorted(byStatusIndex), ({ task, grantHash }) => {
          const values = taskValues(task, bindInstant);
          const columns = insertedTaskColumns.map((column, nth) => [column, values[nth] ?? null]);
          return { grant_hash: grantHash, ...Object.fromEntries(columns) };
        }),
      ],
    },
  ],

  update_grant: (effects) => [
    {
      query: updateGrants,
      values: [
        rows(effects, ({ grantHash, scope, renewals, unrecorded, renewedAt }) => ({
          grant_hash: grantHash,
          scope: scopeColumn(scope),
          renewals,
          unrecorded,
          renewed_at: bindInstant(renewedAt),
        })),
      ],
    },
  ],

  *end_tasks(effects) {
    for (const { tasks, at } of effects) {
      for (const some of portions(tasks, ENDED_AT_ONCE)) {
        for (const [end, taskIds] of byEnd(some)) {
          const ended = JSON.stringify(taskIds);
          yield { query: revokeGrants, values: [ended, bindInstant(at)] };
          if (end.state === 'expired') yield { query: updateToExpired, values: [ended] };
          else yield { query: updateToRevoked, values: [ended, bindInstant(at), end.record.reason] };
        }
      }
    }
  },

  delete_tasks(effects) {
    const values = [JSON.stringify(effects.flatMap(({ taskIds }) => taskIds))];
    // The grants first, because their foreign key refers to the task.
    return [
      { query: deleteGrants, values },
      { query: deleteTasks, values },
    ];
  },

  revoke_token: (effects) => [
    {
      query: insertTokens,
      values: [
        rows(effects, ({ tokenId, taskId, at, reason, forgetAt }) => ({
          jti: tokenId,
          task_id: taskId,
          revoked_at: bindInstant(at),
          reason,
          forget_at: bindInstant(forgetAt),
        })),
      ],
    },
  ],

  put_block: (effects) => [
    {
      query: putBlocks,
      values: [
        rows(effects, ({ sponsorKey, source, kind, blockedAt, statedAt }) => ({
          sponsor_key: storable('sponsor_key', sponsorKey),
          source,
          kind,
          blocked_at: bindInstant(blockedAt),
          stated_at: bindInstant(statedAt),
        })),
      ],
    },
  ],

  remove_block: (effects) =>
    effects.map(({ sponsorKey, source }) => ({
      query: removeBlock,
      values: [storable('sponsor_key', sponsorKey), source],
    })),

  put_pending_unblock: (effects) => [
    {
      query: putPendingUnblocks,
      values: [
        rows(effects, ({ sponsorKey, issuer, subject, operatorKey, forgetAt }) => ({
          sponsor_key: storable('sponsor_key', sponsorKey),
          iss: storable('iss', issuer),
          sub: storable('sub', subject),
          operator_key: storable('operator_key', operatorKey),
          forget_at: bindInstant(forgetAt),
        })),
      ],
    },
  ],
  remove_pending_unblock: (effects) =>
    effects.map(({ sponsorKey }) => ({
      query: removePendingUnblock,
      values: [storable('sponsor_key', sponsorKey)],
    })),

  put_logout: (effects) => [
    {
      query: putLogouts,
      values: [
        rows(effects, ({ kind, name, statedAt, forgetAt }) => ({
          kind,
          name: storable('name', name),
          stated_at: bindInstant(statedAt),
          forget_at: bindInstant(forgetAt),
        })),
      ],
    },
  ],

  close_session: (effects) => effects.map(({ sessionHash }) => ({ query: closeSession, values: [sessionHash] })),
  insert_session: (effects) => [
    { query: insertSessions, values: [rows(effects, (session) => sessionColumns(session, bindInstant))] },
  ],
  renew_session: (effects) =>
    effects.map(({ sessionHash, lastUsedAt, expiresAt }) => ({
      query: renewSession,
      values: [sessionHash, bindInstant(lastUsedAt), bindInstant(expiresAt)],
    })),

  insert_agent: (effects, knex) => effects.map((agent) => ({ query: insertAgent(knex, agent, bindInstant) })),
  replace_agent: (effects, knex) => effects.map((agent) => ({ query: replaceAgent(knex, agent, bindInstant) })),
  remove_agent: (effects, knex) => effects.map(({ agentId }) => ({ query: deleteAgent(knex, agentId) })),

  insert_user: (effects, knex) =>
    effects.map((user) => ({ query: knex('provisioned_users').insert(provisionedUserColumns(user, bindInstant)) })),
  replace_user: (effects, knex) =>
    effects.map((user) => ({
      query: knex('provisioned_users')
        .where({ user_id: user.userId })
        .update(provisionedUserColumns(user, bindInstant)),
    })),
  remove_user: (effects, knex) =>
    effects.map(({ userId }) => ({ query: knex('provisioned_users').where({ user_id: userId }).delete() })),

  insert_status_list: (effects) => [
    {
      query: insertStatusLists,
      values: [
        rows(effects, ({ listId, audience, entries, at }) => ({
          list_id: listId,
          audience: storable('audience', audience),
          entries,
          created_at: bindInstant(at),
        })),
      ],
    },
  ],
  close_status_list: (effects) =>
    effects.map(({ listId, at }) => ({ query: closeStatusList, values: [listId, bindInstant(at)] })),

  put_log_key: (effects) => [{ query: putLogKeys, values: [rows(effects, (key) => logKeyValues(key, bindInstant))] }],

  *append(effects) {
    let entries: readonly LedgerEntry[] = [];
    for (const effect of effects) {
      entries = [...entries, ...effect.entries];
      const { ended } = effect;
      if (ended === undefined) continue;
      if (entries.length > 0) yield appendEntries(entries);
      entries = [];
      for (const tasks of portions(ended.tasks, ENDED_AT_ONCE)) yield appendEnds({ ...ended, tasks });
    }
    if (entries.length > 0) yield appendEntries(entries);
  },

  operator_act: (effects) => effects.map(appendOperatorAct),
};

/** Two transactions that take the same indices in one order cannot deadlock: the second one waits for the first. */
function byStatusIndex(
  { task: { status: one } }: Effects['insert_task'],
  { task: { status: other } }: Effects['insert_task'],
) {
  if (one === undefined || other === undefined) return 0;
  return one.listId === other.listId ? one.index - other.index : one.listId < other.listId ? -1 : 1;
}

function rows<Item>(effects: readonly Item[], row: (effect: Item) => Readonly<Record<string, Bound>>): string {
  return JSON.stringify(effects.map(row));
}

function* portions<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let done = 0; done < items.length; done += size) yield items.slice(done, done + size);
}
