/**
 * The facts of decisions (application/decisions/fact.ts) that one select answers: rows by key (`tables.ts`), or a text for
 * both engines. The engines answer the other facts themselves, because these lock rows or take several statements.
 */

import type { About, Answer, FactName } from '../../application/decisions/fact.ts';
import type { SponsorKey } from '../../domain/identifiers.ts';
import { oldestFirst } from '../../domain/sponsors/block.ts';
import type { Dialect, Values } from './dialect.ts';
import { type AgentRow, mayActNamesColumn, toAgent } from './rows/agent-row.ts';
import { type RecordedApprovalRow, toApproval } from './rows/approval-row.ts';
import {
  type AuthorizationEndRow,
  type AuthorizationRow,
  IS_WAITING,
  SELECT_ENDS,
  toAuthorization,
  toEnds,
} from './rows/authorization-row.ts';
import { type BlockRow, toBlock } from './rows/block-row.ts';
import { type ReadRow, readScope, storable } from './rows/column.ts';
import { type LogKeyRow, toLogKey } from './rows/log-key-row.ts';
import type { ProvisionedUserRow } from './rows/provisioned-user-row.ts';
import { recordsOfApproval } from './rows/recorded.ts';
import { type TaskRow, type TermsRow, termsColumns, toRotation, toTerms } from './rows/task-row.ts';
import { type ColumnType, columnsOf, type Table, tables, typeOf } from './tables.ts';

export interface RowFact<Name extends FactName = FactName> {
  /** The values of the text with their types. */
  readonly keys: Readonly<Record<string, ColumnType>>;
  text(dialect: Dialect): string;
  values(about: About<Name>, dialect: Dialect): Values;
  /** The columns of the rows that are instants. */
  readonly instants: readonly string[];
  read(rows: readonly never[]): Answer<Name>;
}

interface FurtherParts {
  readonly by?: readonly string[];
  readonly order?: readonly string[];
  /** Further columns, by the name that the row has in the query. */
  readonly more?: (dialect: Dialect, row: string) => string;
}

/** Rows by key, or by the columns `by`. */
function rows<Name extends FactName, Row>(
  table: Table,
  columns: readonly (keyof Row & string)[],
  values: RowFact<Name>['values'],
  read: (rows: readonly Row[]) => Answer<Name>,
  { by = table.key, order = [], more }: FurtherParts = {},
): RowFact<Name> {
  return {
    keys: Object.fromEntries(by.map((column) => [column, typeOf(table, column)])),
    text: (dialect) => dialect.select(table, columns, by, order, more && ((row) => more(dialect, row))),
    values,
    instants: columns.filter((column) => typeOf(table, column) === 'instant'),
    read,
  };
}

/** The rows of a text, none of whose columns is an instant. */
function selected<Name extends FactName, Row>(
  keys: RowFact<Name>['keys'],
  text: string,
  values: RowFact<Name>['values'],
  read: (rows: readonly Row[]) => Answer<Name>,
): RowFact<Name> {
  return { keys, text: () => text, values, instants: [], read };
}

/** @param one which rows of the text: the first of them is the answer */
function first<Name extends FactName>(fact: RowFact<Name>, one: string): RowFact<Name> {
  return { ...fact, text: (dialect) => `${fact.text(dialect)} ${one}` };
}

const isThere = (found: readonly unknown[]): boolean => found.length > 0;

const NAME_COLUMNS = { sub: 'text', client_id: 'text' } as const;

const bySponsor = (sponsorKey: SponsorKey) => ({ sponsor_key: storable('sponsor_key', sponsorKey) });

export const rowFacts = {
  agent: rows<'agent', AgentRow>(
    tables.agents,
    columnsOf(tables.agents),
    (agentId) => ({ agent_id: agentId }),
    ([row]) => row && toAgent(row),
  ),

  agent_revision: rows<'agent_revision', AgentRow>(
    tables.agents,
    ['revision'],
    (agentId) => ({ agent_id: agentId }),
    ([row]) => row?.revision,
  ),

  agent_enabled: selected<'agent_enabled', unknown>(
    { agent_id: 'text' },
    'select 1 as found from agents a where a.agent_id = :agent_id and a.enabled',
    (agentId) => ({ agent_id: agentId }),
    isThere,
  ),

  agent_name_taken: {
    keys: { agent_id: 'text', names: 'text' },
    text: ({ jsonRows }) => `select 1 as found from agents a
      where a.agent_id <> :agent_id and (
        exists (select 1 from ${jsonRows(':names', NAME_COLUMNS)} n where n.sub = a.agent_id)
        or exists (select 1 from ${jsonRows('a.may_act_names', NAME_COLUMNS)} o
          where o.sub = :agent_id or exists (select 1 from ${jsonRows(':names', NAME_COLUMNS)} n
            where n.sub is not distinct from o.sub and n.client_id is not distinct from o.client_id))
      ) limit 1`,
    values: ({ agentId, names }) => ({ agent_id: agentId, names: mayActNamesColumn(names) }),
    instants: [],
    read: isThere,
  } satisfies RowFact<'agent_name_taken'>,

  agent_document_taken: selected<'agent_document_taken', unknown>(
    { agent_id: 'text', uri: 'text' },
    'select 1 as found from agents a where a.client_id_document = :uri and a.agent_id <> :agent_id',
    ({ agentId, uri }) => ({ agent_id: agentId, uri }),
    isThere,
  ),

  agent_has_tasks: selected<'agent_has_tasks', unknown>(
    { agent_id: 'text' },
    'select 1 as found from tasks t where t.agent_id = :agent_id limit 1',
    (agentId) => ({ agent_id: agentId }),
    isThere,
  ),

  registered_agents: {
    keys: { agent_ids: 'text' },
    text: ({ among, texts }) => `select a.agent_id from agents a where a.agent_id ${among(texts(':agent_ids'))}`,
    values: (agentIds) => ({ agent_ids: JSON.stringify(agentIds) }),
    instants: [],
    read: (found: readonly Pick<AgentRow, 'agent_id'>[]) => found.map((row) => row.agent_id),
  } satisfies RowFact<'registered_agents'>,

  agent_named_by_others: {
    keys: { agent_id: 'text' },
    text: ({ among, texts }) => `select 1 as found from agents a
      where a.delegates_to is not null and a.agent_id <> :agent_id
        and :agent_id ${among(texts('a.delegates_to'))} limit 1`,
    values: (agentId) => ({ agent_id: agentId }),
    instants: [],
    read: isThere,
  } satisfies RowFact<'agent_named_by_others'>,

  blocks: rows<'blocks', BlockRow & ReadRow<typeof tables.sponsor_blocks>>(
    tables.sponsor_blocks,
    columnsOf(tables.sponsor_blocks),
    bySponsor,
    (found) => found.map((row) => ({ ...toBlock(row), statedAt: row.stated_at })).sort(oldestFirst),
    { by: ['sponsor_key'] },
  ),

  person_known: selected<'person_known', unknown>(
    { sponsor_key: 'text' },
    `select 1 as found
      where exists (select 1 from sponsor_blocks b where b.sponsor_key = :sponsor_key)
        or exists (select 1 from provisioned_users u where u.sponsor_key = :sponsor_key)
        or exists (select 1 from tasks t where t.sponsor_key = :sponsor_key)
        or exists (select 1 from authorizations z where z.sponsor_key = :sponsor_key and z.${IS_WAITING})
        or exists (select 1 from delegation_refusals d where d.sponsor_key = :sponsor_key)`,
    bySponsor,
    isThere,
  ),

  delegation_refused: rows<'delegation_refused', object>(
    tables.delegation_refusals,
    [],
    ({ sponsorKey, agentId }) => ({ ...bySponsor(sponsorKey), agent_id: agentId }),
    isThere,
  ),

  assertion_spent: selected<'assertion_spent', unknown>(
    { agent_id: 'text', jti: 'text', latest_forget_at: 'instant' },
    // The second row is there only for seven minutes after a restore (`postgres/restores.ts`): one more lookup by the
    // primary key.
    `select 1 as found from spent_assertions s where s.agent_id = :agent_id and s.jti = :jti
      union all select 1 from spent_assertions r
        where r.agent_id = '' and r.jti = '' and r.forget_at >= :latest_forget_at`,
    ({ agentId, jti, latestForgetAt }, { instant }) => ({
      agent_id: agentId,
      jti: storable('jti', jti),
      latest_forget_at: instant(latestForgetAt),
    }),
    isThere,
  ),

  logout: rows<'logout', ReadRow<typeof tables.logouts>>(
    tables.logouts,
    ['stated_at', 'forget_at'],
    ({ kind, name }) => ({ kind, name: storable('name', name) }),
    ([row]) => row && { statedAt: row.stated_at, forgetAt: row.forget_at },
  ),

  live_task_without_session: selected<'live_task_without_session', unknown>(
    { subject: 'text', at: 'instant' },
    `select 1 as found from tasks t
      where t.sponsor = :subject and t.session_id is null and t.state = 'live' and t.expires_at > :at limit 1`,
    ({ subject, at }, { instant }) => ({ subject: storable('sponsor', subject), at: instant(at) }),
    isThere,
  ),

  task_state: rows<'task_state', TaskRow>(
    tables.tasks,
    ['state', 'expires_at'],
    (taskId) => ({ task_id: taskId }),
    ([row]) => row && { state: row.state, expiresAt: row.expires_at },
  ),

  task_sponsor: rows<'task_sponsor', TaskRow>(
    tables.tasks,
    ['sponsor_key'],
    (taskId) => ({ task_id: taskId }),
    ([row]) => row?.sponsor_key,
  ),

  task_terms: rows<'task_terms', TermsRow>(
    tables.tasks,
    termsColumns,
    (taskId) => ({ task_id: taskId }),
    ([row]) => row && toTerms(row),
  ),

  delegating_task: rows<'delegating_task', Pick<TaskRow, 'state' | 'expires_at'> & { readonly grant_scope: string }>(
    tables.tasks,
    ['state', 'expires_at'],
    (taskId) => ({ task_id: taskId }),
    ([row]) => row && { state: row.state, expiresAt: row.expires_at, scope: readScope(row.grant_scope) },
    { more: (_, row) => `(select g.scope from task_grants g where g.task_id = ${row}.task_id) as grant_scope` },
  ),

  live_children: selected<'live_children', { readonly children: number }>(
    { task_id: 'text', at: 'instant' },
    `select count(*) as children from tasks t
      where t.parent_task_id = :task_id and t.state = 'live' and t.expires_at > :at`,
    ({ taskId, at }, { instant }) => ({ task_id: taskId, at: instant(at) }),
    ([row]) => row?.children ?? 0,
  ),

  grant: rows<'grant', ReadRow<typeof tables.task_grants> & Pick<TaskRow, 'task_id'>>(
    tables.task_grants,
    ['task_id', 'scope', 'renewals', 'unrecorded', 'revoked_at', 'rotation_hash', 'previous_hash'],
    (grantHash) => ({ grant_hash: grantHash }),
    ([row]) =>
      row && {
        taskId: row.task_id,
        scope: readScope(row.scope),
        renewals: row.renewals,
        unrecorded: row.unrecorded,
        revokedAt: row.revoked_at ?? undefined,
        ...toRotation(row),
      },
  ),

  grant_owner: selected<'grant_owner', TaskRow>(
    { grant_hash: 'text' },
    `select t.agent_id, t.task_id, t.sponsor_key from task_grants g join tasks t using (task_id)
      where g.grant_hash = :grant_hash`,
    (grantHash) => ({ grant_hash: grantHash }),
    ([row]) => row && { agentId: row.agent_id, taskId: row.task_id, sponsorKey: row.sponsor_key },
  ),

  token_revoked: rows<'token_revoked', object>(tables.revoked_tokens, [], (tokenId) => ({ jti: tokenId }), isThere),

  approval: rows<'approval', RecordedApprovalRow>(
    tables.approvals,
    columnsOf(tables.approvals),
    (approvalId) => ({ approval_id: approvalId }),
    ([row]) => row && toApproval(row),
    { more: recordsOfApproval },
  ),

  last_approval: first(
    rows<'last_approval', RecordedApprovalRow>(
      tables.approvals,
      columnsOf(tables.approvals),
      ({ taskId, digest }) => ({ task_id: taskId, digest }),
      ([row]) => row && toApproval(row),
      { by: ['task_id', 'digest'], order: ['round'], more: recordsOfApproval },
    ),
    'desc limit 1',
  ),

  pending_approvals: selected<'pending_approvals', { of_task: number; of_agent: number; of_person: number }>(
    { task_id: 'text', at: 'instant' },
    `select count(*) filter (where v.task_id = :task_id) as of_task,
        count(*) filter (
          where (select o.agent_id from tasks o where o.task_id = v.task_id)
            = (select t.agent_id from tasks t where t.task_id = :task_id)
        ) as of_agent,
        count(*) as of_person
      from approvals v
      where v.sponsor_key = (select t.sponsor_key from tasks t where t.task_id = :task_id)
        and v.state = 'pending' and v.expires_at > :at`,
    ({ taskId, at }, { instant }) => ({ task_id: taskId, at: instant(at) }),
    ([row]) => ({ ofTask: row?.of_task ?? 0, ofAgent: row?.of_agent ?? 0, ofPerson: row?.of_person ?? 0 }),
  ),

  asked_questions: {
    keys: { agent_id: 'text', task_id: 'text' },
    text: (
      dialect,
    ) => `${dialect.select(tables.asked_questions, ['asked', 'is_refused', 'forget_at'], ['agent_id'], [])}
        and sponsor_key = (select t.sponsor_key from tasks t where t.task_id = :task_id)`,
    values: ({ agentId, taskId }) => ({ agent_id: agentId, task_id: taskId }),
    instants: ['forget_at'],
    read: ([row]: readonly ReadRow<typeof tables.asked_questions>[]) =>
      row && { asked: row.asked, isRefused: Boolean(row.is_refused), forgetAt: row.forget_at },
  } satisfies RowFact<'asked_questions'>,

  authorization: rows<'authorization', AuthorizationRow>(
    tables.authorizations,
    columnsOf(tables.authorizations),
    (requestId) => ({ request_id: requestId }),
    ([row]) => row && toAuthorization(row),
  ),

  open_authorizations: selected<'open_authorizations', AuthorizationRow>(
    { sponsor_key: 'text' },
    `select z.request_id from authorizations z
      where z.sponsor_key = :sponsor_key and z.${IS_WAITING} and z.state = 'open' order by z.request_id`,
    bySponsor,
    (found) => found.map((row) => row.request_id),
  ),

  authorization_ends: selected<'authorization_ends', AuthorizationEndRow>(
    { agent_id: 'text' },
    SELECT_ENDS,
    (agentId) => ({ agent_id: agentId }),
    toEnds,
  ),

  signal_accepted: rows<'signal_accepted', object>(
    tables.accepted_signals,
    [],
    ({ receiver, issuer, jti }) => ({ receiver, issuer: storable('issuer', issuer), jti: storable('jti', jti) }),
    isThere,
  ),

  user_revision: rows<'user_revision', ProvisionedUserRow>(
    tables.provisioned_users,
    ['revision'],
    (userId) => ({ user_id: userId }),
    ([row]) => row?.revision,
  ),

  user_named: rows<'user_named', ProvisionedUserRow>(
    tables.provisioned_users,
    ['user_id'],
    (name) => ({ user_name_key: storable('user_name_key', name) }),
    ([row]) => row?.user_id,
    { by: ['user_name_key'] },
  ),

  log_keys: rows<'log_keys', LogKeyRow>(
    tables.log_keys,
    columnsOf(tables.log_keys),
    (use) => ({ use }),
    (found) => found.map(toLogKey),
    { by: ['use'], order: ['active_from', 'kid'] },
  ),

  inactive_users: selected<'inactive_users', ProvisionedUserRow>(
    { sponsor_key: 'text' },
    'select user_id from provisioned_users u where u.sponsor_key = :sponsor_key and not u.active order by u.user_id',
    bySponsor,
    (found) => found.map((row) => row.user_id),
  ),

  other_users: selected<'other_users', Answer<'other_users'>>(
    { sponsor_key: 'text', except_id: 'text' },
    `select count(*) as users, count(*) filter (where not active) as inactive from provisioned_users u
      where u.sponsor_key = :sponsor_key and u.user_id <> :except_id`,
    ({ sponsorKey, except }) => ({ sponsor_key: storable('sponsor_key', sponsorKey), except_id: except }),
    ([row]) => row ?? { users: 0, inactive: 0 },
  ),

  pending_unblock: rows<'pending_unblock', ReadRow<typeof tables.pending_unblocks>>(
    tables.pending_unblocks,
    ['iss', 'sub', 'operator_key', 'forget_at'],
    bySponsor,
    ([row]) => row && { issuer: row.iss, subject: row.sub, operatorKey: row.operator_key, forgetAt: row.forget_at },
  ),
} satisfies { readonly [Name in FactName]?: RowFact<Name> };

export type RowFactName = keyof typeof rowFacts;
