/**
 * The effects of decisions (application/decisions/effect.ts) that insert, replace, change or delete one row (`tables.ts`).
 * The engines apply the other effects themselves, because these take several statements.
 */

import type { EffectName, Effects } from '../../application/decisions/effect.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Dialect, Values } from './dialect.ts';
import { agentRow } from './rows/agent-row.ts';
import { approvalRow, saysColumns } from './rows/approval-row.ts';
import { authorizationRow, codeColumns } from './rows/authorization-row.ts';
import { storable, storableOrNull } from './rows/column.ts';
import { logKeyRow } from './rows/log-key-row.ts';
import { provisionedUserRow } from './rows/provisioned-user-row.ts';
import { sessionRow } from './rows/session-row.ts';
import { columnsOf, type RowOf, type Table, tables } from './tables.ts';

export interface RowEffect<Of> {
  readonly table: Table;
  /** Postgres inserts the rows of several effects together. */
  readonly inserts: boolean;
  text(dialect: Dialect): string;
  /** The values of the columns that the text names. Instants are in their form of the domain. */
  row(effect: Of): Values;
}

function insert<Of, In extends Table>(table: In, row: (effect: Of) => RowOf<In>): RowEffect<Of> {
  return { table, inserts: true, text: (dialect) => dialect.insert(table, ''), row };
}

/** Inserts the row, or changes the columns of the row with its key. */
function put<Of, In extends Table>(
  table: In,
  row: (effect: Of) => RowOf<In>,
  changed: readonly (keyof In['columns'] & string)[] = withoutKey(table),
): RowEffect<Of> {
  const conflict = `
  on conflict (${table.key.join(', ')}) do update set ${changed.map((column) => `${column} = excluded.${column}`).join(', ')}`;
  return { table, inserts: true, text: (dialect) => dialect.insert(table, conflict), row };
}

/** Changes the columns of the row with the key. */
function update<Of, In extends Table>(
  table: In,
  changed: readonly (keyof In['columns'] & string)[],
  row: (effect: Of) => Partial<RowOf<In>>,
): RowEffect<Of> {
  const set = changed.map((column) => `${column} = :${column}`).join(', ');
  return { table, inserts: false, text: () => `update ${table.name} set ${set} where ${ofKey(table)}`, row };
}

/** Deletes the row with the key. */
function remove<Of, In extends Table>(table: In, row: (effect: Of) => Partial<RowOf<In>>): RowEffect<Of> {
  return { table, inserts: false, text: () => `delete from ${table.name} where ${ofKey(table)}`, row };
}

function ofKey({ key }: Table): string {
  return key.map((column) => `${column} = :${column}`).join(' and ');
}

function withoutKey<In extends Table>(table: In): readonly (keyof In['columns'] & string)[] {
  return columnsOf(table).filter((column) => !table.key.includes(column));
}

const { agents, approvals, authorizations, provisioned_users: users, sessions } = tables;
const { sponsor_blocks: blocks, pending_unblocks, delegation_refusals, status_lists } = tables;

export const rowEffects = {
  spend_assertion: insert(tables.spent_assertions, ({ agentId, jti, forgetAt }) => ({
    agent_id: agentId,
    jti: storable('jti', jti),
    forget_at: forgetAt,
  })),
  accept_signal: insert(tables.accepted_signals, ({ receiver, issuer, jti, forgetAt }) => ({
    receiver,
    issuer: storable('issuer', issuer),
    jti: storable('jti', jti),
    forget_at: forgetAt,
  })),

  insert_approval: insert(approvals, approvalRow),
  answer_approval: update(
    approvals,
    ['state', 'decided_at', 'expires_at', 'says', 'says_salt'],
    ({ approvalId, state, at, expiresAt, says }) => ({
      approval_id: approvalId,
      state,
      decided_at: at,
      expires_at: expiresAt,
      ...saysColumns(says),
    }),
  ),
  close_approval: update(approvals, ['state', 'closed_at', 'words_changed'], ({ approvalId, state, at }) => ({
    approval_id: approvalId,
    state,
    closed_at: at,
    words_changed: state === 'withdrawn',
  })),
  insert_approval_notice: insert(tables.approval_notices, ({ approvalId, sponsorKey, dueAt }) => ({
    approval_id: approvalId,
    sponsor_key: storable('sponsor_key', sponsorKey),
    due_at: dueAt,
    failures: 0,
    is_sent: false,
  })),
  put_asked_questions: put(tables.asked_questions, ({ agentId, sponsorKey, asked, isRefused, forgetAt }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    agent_id: agentId,
    asked,
    is_refused: isRefused,
    forget_at: forgetAt,
  })),
  insert_purpose: insert(tables.task_purposes, ({ taskId, words, salt }) => ({
    task_id: taskId,
    purpose: storable('purpose', words),
    salt,
  })),

  rotate_grant: update(
    tables.task_grants,
    ['rotation_hash', 'previous_hash'],
    ({ grantHash, current, previous = null }) => ({
      grant_hash: grantHash,
      rotation_hash: current,
      previous_hash: previous,
    }),
  ),

  insert_authorization: insert(authorizations, authorizationRow),
  answer_authorization: update(
    authorizations,
    [
      'state',
      'client',
      'answered_at',
      'code_hash',
      'code_expires_at',
      'chosen_scope',
      'task_ends_at',
      'task_id',
      'purpose',
      'forget_at',
    ],
    ({ requestId, state, client, at, code, purpose, forgetAt }) => ({
      request_id: requestId,
      state,
      client,
      answered_at: at,
      ...codeColumns(code),
      purpose: storableOrNull('purpose', purpose),
      forget_at: forgetAt,
    }),
  ),
  spend_authorization: update(
    authorizations,
    ['state', 'client_state', 'purpose', 'forget_at'],
    ({ requestId, forgetAt = null }) => ({
      request_id: requestId,
      state: 'spent',
      client_state: null,
      purpose: null,
      forget_at: forgetAt,
    }),
  ),
  count_authorization_end: {
    ...put(tables.authorization_ends, ({ of, first, reason, forgetAt }) => ({
      kind: of.kind,
      name: of.kind === 'agent' ? of.agentId : '',
      ends: first,
      reason,
      forget_at: forgetAt,
    })),
    text: (dialect) =>
      dialect.insert(
        tables.authorization_ends,
        `
  on conflict (kind, name) do update set ends = authorization_ends.ends + 1, reason = excluded.reason,
    forget_at = excluded.forget_at`,
      ),
  },

  put_block: put(blocks, ({ sponsorKey, source, kind, blockedAt, statedAt }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    source,
    kind,
    blocked_at: blockedAt,
    stated_at: statedAt,
  })),
  remove_block: remove(blocks, ({ sponsorKey, source }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    source,
  })),
  put_pending_unblock: put(pending_unblocks, ({ sponsorKey, issuer, subject, operatorKey, forgetAt }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    iss: storable('iss', issuer),
    sub: storable('sub', subject),
    operator_key: storable('operator_key', operatorKey),
    forget_at: forgetAt,
  })),
  remove_pending_unblock: remove(pending_unblocks, ({ sponsorKey }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
  })),
  put_delegation_refusal: put(delegation_refusals, ({ sponsorKey, agentId, refusedAt }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    agent_id: agentId,
    refused_at: refusedAt,
  })),
  remove_delegation_refusal: remove(delegation_refusals, ({ sponsorKey, agentId }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    agent_id: agentId,
  })),
  put_logout: put(tables.logouts, ({ kind, name, statedAt, forgetAt }) => ({
    kind,
    name: storable('name', name),
    stated_at: statedAt,
    forget_at: forgetAt,
  })),

  insert_session: insert(sessions, sessionRow),
  renew_session: update(sessions, ['last_used_at', 'expires_at'], ({ sessionHash, lastUsedAt, expiresAt }) => ({
    session_hash: sessionHash,
    last_used_at: lastUsedAt,
    expires_at: expiresAt,
  })),
  close_session: remove(sessions, ({ sessionHash }) => ({ session_hash: sessionHash })),

  insert_agent: insert(agents, agentRow),
  replace_agent: update(agents, withoutKey(agents), agentRow),
  remove_agent: remove(agents, ({ agentId }) => ({ agent_id: agentId })),
  forget_delegation_refusals: {
    ...remove(delegation_refusals, ({ agentId }) => ({ agent_id: agentId })),
    text: () => 'delete from delegation_refusals where agent_id = :agent_id',
  },

  insert_user: insert(users, provisionedUserRow),
  replace_user: update(users, withoutKey(users), provisionedUserRow),
  remove_user: remove(users, ({ userId }) => ({ user_id: userId })),

  insert_status_list: insert(status_lists, ({ listId, audience, entries, at }) => ({
    list_id: listId,
    audience: storable('audience', audience),
    entries,
    created_at: at,
    closed_at: null,
  })),
  close_status_list: update(status_lists, ['closed_at'], ({ listId, at }) => ({ list_id: listId, closed_at: at })),

  put_log_key: put(tables.log_keys, logKeyRow, ['active_from', 'active_to']),
} satisfies { readonly [Name in EffectName]?: RowEffect<Effects[Name]> };

export type RowEffectName = keyof typeof rowEffects;

/** The row as the engine stores it. */
export function storedRow<Of>({ table, row }: RowEffect<Of>, effect: Of, { instant }: Dialect): Values {
  const stored: Record<string, Values[string]> = { ...row(effect) };
  for (const column in stored) {
    const value = stored[column];
    // Not by `typeOf`, because every exchange comes here.
    const isInstant = table.columns[column]?.startsWith('instant');
    if (isInstant && typeof value === 'number') stored[column] = instant(value as Instant);
  }
  return stored;
}
