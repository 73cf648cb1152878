/**
 * The tables whose rows decisions find by key, insert, replace or delete (`row-facts.ts`, `row-effects.ts`): their columns in
 * order, and their keys. A test compares them with the schema of each engine.
 */

export type ColumnType = 'text' | 'integer' | 'bigint' | 'boolean' | 'json' | 'instant';

export const POSTGRES_TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  integer: 'integer',
  bigint: 'bigint',
  boolean: 'boolean',
  json: 'json',
  instant: 'timestamptz',
};

export interface Table {
  readonly name: string;
  /** Its name within a query. */
  readonly alias: string;
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The column that tells when a row is no longer needed (`queries/sweeping.ts`). */
  readonly until?: string;
}

export const tables = {
  agents: {
    name: 'agents',
    alias: 'a',
    key: ['agent_id'],
    columns: {
      agent_id: 'text',
      display_name: 'text',
      allowed_scopes: 'text',
      allowed_audiences: 'json',
      high_risk_audiences: 'json',
      max_task_ttl: 'integer',
      max_token_ttl: 'integer',
      max_delegation_depth: 'integer',
      jwks_uri: 'text',
      jwks: 'json',
      may_act_names: 'json',
      enabled: 'boolean',
      revision: 'bigint',
      created_at: 'instant',
      updated_at: 'instant',
      keys_since: 'instant',
    },
  },
  sponsor_blocks: {
    name: 'sponsor_blocks',
    alias: 'b',
    key: ['sponsor_key', 'source'],
    columns: { sponsor_key: 'text', source: 'text', kind: 'text', blocked_at: 'instant', stated_at: 'instant' },
  },
  pending_unblocks: {
    name: 'pending_unblocks',
    alias: 'p',
    key: ['sponsor_key'],
    until: 'forget_at',
    columns: { sponsor_key: 'text', iss: 'text', sub: 'text', operator_key: 'text', forget_at: 'instant' },
  },
  provisioned_users: {
    name: 'provisioned_users',
    alias: 'u',
    key: ['user_id'],
    columns: {
      user_id: 'text',
      user_name: 'text',
      user_name_key: 'text',
      external_id: 'text',
      active: 'boolean',
      sponsor_key: 'text',
      revision: 'bigint',
      created_at: 'instant',
      modified_at: 'instant',
    },
  },
  tasks: {
    name: 'tasks',
    alias: 't',
    key: ['task_id'],
    columns: {
      task_id: 'text',
      agent_id: 'text',
      sponsor_key: 'text',
      sponsor: 'text',
      session_id: 'text',
      parent_task_id: 'text',
      audience: 'text',
      scope: 'text',
      held_scope: 'text',
      asked_scope: 'text',
      delegation_depth: 'integer',
      created_at: 'instant',
      expires_at: 'instant',
      state: 'text',
      ended_at: 'instant',
      end_reason: 'text',
      status_list: 'text',
      status_index: 'integer',
    },
  },
  task_purposes: {
    name: 'task_purposes',
    alias: 'p',
    key: ['task_id'],
    columns: { task_id: 'text', purpose: 'text', salt: 'text' },
  },
  task_grants: {
    name: 'task_grants',
    alias: 'g',
    key: ['grant_hash'],
    columns: {
      grant_hash: 'text',
      task_id: 'text',
      scope: 'text',
      renewals: 'integer',
      unrecorded: 'integer',
      renewed_at: 'instant',
      revoked_at: 'instant',
    },
  },
  approvals: {
    name: 'approvals',
    alias: 'v',
    key: ['approval_id'],
    columns: {
      approval_id: 'text',
      task_id: 'text',
      sponsor_key: 'text',
      round: 'integer',
      digest: 'text',
      commitment: 'text',
      salt: 'text',
      title: 'text',
      lines: 'json',
      state: 'text',
      requested_at: 'instant',
      expires_at: 'instant',
      decided_at: 'instant',
      closed_at: 'instant',
    },
  },
  approval_notices: {
    name: 'approval_notices',
    alias: 'n',
    key: ['approval_id'],
    columns: {
      approval_id: 'text',
      sponsor_key: 'text',
      due_at: 'instant',
      failures: 'integer',
      is_sent: 'boolean',
    },
  },
  asked_questions: {
    name: 'asked_questions',
    alias: 'c',
    key: ['sponsor_key', 'agent_id'],
    until: 'forget_at',
    columns: {
      sponsor_key: 'text',
      agent_id: 'text',
      asked: 'integer',
      is_refused: 'boolean',
      forget_at: 'instant',
    },
  },
  revoked_tokens: {
    name: 'revoked_tokens',
    alias: 'r',
    key: ['jti'],
    until: 'forget_at',
    columns: {
      jti: 'text',
      task_id: 'text',
      revoked_at: 'instant',
      reason: 'text',
      forget_at: 'instant',
      status_list: 'text',
    },
  },
  spent_assertions: {
    name: 'spent_assertions',
    alias: 's',
    key: ['agent_id', 'jti'],
    until: 'forget_at',
    columns: { agent_id: 'text', jti: 'text', forget_at: 'instant' },
  },
  accepted_signals: {
    name: 'accepted_signals',
    alias: 's',
    key: ['receiver', 'issuer', 'jti'],
    until: 'forget_at',
    columns: { receiver: 'text', issuer: 'text', jti: 'text', forget_at: 'instant' },
  },
  logouts: {
    name: 'logouts',
    alias: 'l',
    key: ['kind', 'name'],
    until: 'forget_at',
    columns: { kind: 'text', name: 'text', stated_at: 'instant', forget_at: 'instant' },
  },
  sessions: {
    name: 'sessions',
    alias: 's',
    key: ['session_hash'],
    until: 'expires_at',
    columns: {
      session_hash: 'text',
      kind: 'text',
      iss: 'text',
      sub: 'text',
      sponsor_key: 'text',
      roles: 'text',
      sid: 'text',
      authenticated_at: 'instant',
      created_at: 'instant',
      last_used_at: 'instant',
      expires_at: 'instant',
      sealed_id_token: 'text',
    },
  },
  status_lists: {
    name: 'status_lists',
    alias: 's',
    key: ['list_id'],
    columns: { list_id: 'text', audience: 'text', entries: 'integer', created_at: 'instant', closed_at: 'instant' },
  },
  log_keys: {
    name: 'log_keys',
    alias: 'k',
    key: ['use', 'kid', 'thumbprint'],
    columns: {
      use: 'text',
      kid: 'text',
      thumbprint: 'text',
      public_key: 'text',
      active_from: 'instant',
      active_to: 'instant',
    },
  },
} as const satisfies Readonly<Record<string, Table>>;

/** The values of all columns of a table. Instants are in their form of the domain. */
export type RowOf<Of extends Table> = Readonly<Record<keyof Of['columns'], string | number | boolean | null>>;

/**
 * The columns of a `select`. It names each, because a release may add one: a prepared `select *` would then fail on every
 * open connection of older replicas.
 */
export function columnsOf<Of extends Table>(table: Of): readonly (keyof Of['columns'] & string)[] {
  return Object.keys(table.columns);
}
