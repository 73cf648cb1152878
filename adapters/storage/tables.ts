/**
 * The tables, for both engines. Facts and effects of single rows (`row-facts.ts`, `row-effects.ts`), deletion with a task or by
 * time, the privileges of the serving role on Postgres, and the guards of append-only tables follow from these lists. A test
 * compares them with the schema of each engine.
 */

/** `key`: a text that is part of a key or has an index. Postgres sorts it by code point. */
export type ColumnType = 'text' | 'key' | 'integer' | 'bigint' | 'boolean' | 'json' | 'instant';

/** With `?` it may be null. */
export type Column = ColumnType | `${ColumnType}?`;

export const POSTGRES_TYPES: Readonly<Record<ColumnType, string>> = {
  text: 'text',
  key: 'text',
  integer: 'integer',
  bigint: 'bigint',
  boolean: 'boolean',
  json: 'json',
  instant: 'timestamptz',
};

/** What the serving role may do with a table, as `grant` names it. */
const EVERYTHING = 'select, insert, update, delete';
const NO_UPDATE = 'select, insert, delete';

interface TableMade {
  readonly name: string;
  readonly privileges: string;
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, Column>>;
  /** Triggers keep even its owner from changing or deleting a row. The serving role appends only through functions. */
  readonly isAppendOnly?: true;
}

/** A table whose rows decisions find by key, insert, replace or delete. */
export interface Table extends TableMade {
  /** Its name within a query. */
  readonly alias: string;
  /** The column that tells when a row is no longer needed (`queries/sweeping.ts`). */
  readonly until?: string;
  /** The table that this one belongs to. The rows of this one that have its key are deleted with its row. */
  readonly of?: string;
  /** Whether people may have written what it holds. When SQLite deletes it, nothing of it stays in the file. */
  readonly holdsWords?: true;
}

export const tables = {
  agents: {
    name: 'agents',
    privileges: EVERYTHING,
    alias: 'a',
    key: ['agent_id'],
    columns: {
      agent_id: 'key',
      display_name: 'text',
      allowed_scopes: 'text',
      allowed_audiences: 'json',
      high_risk_audiences: 'json',
      max_task_ttl: 'integer',
      max_token_ttl: 'integer',
      max_delegation_depth: 'integer',
      jwks_uri: 'text?',
      jwks: 'json?',
      may_act_names: 'json?',
      redirect_uris: 'json?',
      public_client: 'boolean',
      client_id_document: 'key?',
      client_names: 'json?',
      delegates_to: 'json?',
      enabled: 'boolean',
      revision: 'bigint',
      created_at: 'instant',
      updated_at: 'instant',
      keys_since: 'instant',
    },
  },
  sponsor_blocks: {
    name: 'sponsor_blocks',
    privileges: EVERYTHING,
    alias: 'b',
    key: ['sponsor_key', 'source'],
    columns: { sponsor_key: 'key', source: 'text', kind: 'text', blocked_at: 'instant', stated_at: 'instant' },
  },
  pending_unblocks: {
    name: 'pending_unblocks',
    privileges: EVERYTHING,
    alias: 'p',
    key: ['sponsor_key'],
    until: 'forget_at',
    columns: { sponsor_key: 'key', iss: 'text', sub: 'text', operator_key: 'text', forget_at: 'instant' },
  },
  // Deleted with its agent too (`forget_delegation_refusals`).
  delegation_refusals: {
    name: 'delegation_refusals',
    privileges: EVERYTHING,
    alias: 'd',
    key: ['sponsor_key', 'agent_id'],
    columns: { sponsor_key: 'key', agent_id: 'key', refused_at: 'instant' },
  },
  provisioned_users: {
    name: 'provisioned_users',
    privileges: EVERYTHING,
    alias: 'u',
    key: ['user_id'],
    columns: {
      user_id: 'key',
      user_name: 'text',
      user_name_key: 'key',
      external_id: 'key?',
      active: 'boolean',
      sponsor_key: 'key',
      revision: 'bigint',
      created_at: 'instant',
      modified_at: 'instant',
    },
  },
  tasks: {
    name: 'tasks',
    privileges: EVERYTHING,
    alias: 't',
    key: ['task_id'],
    columns: {
      task_id: 'key',
      agent_id: 'key',
      sponsor_key: 'key',
      sponsor: 'text',
      session_id: 'key?',
      parent_task_id: 'key?',
      delegated_by: 'text?',
      audience: 'text',
      scope: 'text',
      held_scope: 'text?',
      asked_scope: 'text?',
      delegation_depth: 'integer',
      created_at: 'instant',
      expires_at: 'instant',
      state: 'key',
      ended_at: 'instant?',
      end_reason: 'text?',
      status_list: 'key?',
      status_index: 'integer?',
    },
  },
  task_purposes: {
    name: 'task_purposes',
    privileges: NO_UPDATE,
    of: 'tasks',
    holdsWords: true,
    alias: 'p',
    key: ['task_id'],
    columns: { task_id: 'key', purpose: 'text', salt: 'text' },
  },
  task_grants: {
    name: 'task_grants',
    privileges: EVERYTHING,
    of: 'tasks',
    alias: 'g',
    key: ['grant_hash'],
    columns: {
      grant_hash: 'key',
      task_id: 'key',
      scope: 'text',
      renewals: 'integer',
      unrecorded: 'integer',
      renewed_at: 'instant?',
      revoked_at: 'instant?',
      rotation_hash: 'text?',
      previous_hash: 'text?',
    },
  },
  authorizations: {
    name: 'authorizations',
    privileges: EVERYTHING,
    // Once its code is spent. Until then its time decides.
    of: 'tasks',
    until: 'forget_at',
    holdsWords: true,
    alias: 'z',
    key: ['request_id'],
    columns: {
      request_id: 'key',
      browser_hash: 'text',
      agent_id: 'key',
      client: 'text',
      redirect_uri: 'text',
      client_state: 'text?',
      challenge: 'text',
      audience: 'text',
      offered_scope: 'text',
      asked_scope: 'text',
      held_scope: 'text',
      purpose: 'text?',
      sponsor_key: 'key',
      sponsor: 'key',
      session_id: 'key?',
      issued_at: 'instant?',
      authenticated_at: 'instant?',
      began_at: 'instant',
      came_at: 'instant',
      expires_at: 'instant',
      state: 'key',
      answered_at: 'instant?',
      void_reason: 'text?',
      code_hash: 'key?',
      code_expires_at: 'instant?',
      chosen_scope: 'text?',
      task_ends_at: 'instant?',
      task_id: 'key?',
      forget_at: 'instant?',
    },
  },
  authorization_ends: {
    name: 'authorization_ends',
    privileges: EVERYTHING,
    until: 'forget_at',
    alias: 'e',
    key: ['kind', 'name'],
    columns: { kind: 'key', name: 'key', ends: 'integer', reason: 'text', forget_at: 'instant' },
  },
  approvals: {
    name: 'approvals',
    // The words of the tool server never change.
    privileges:
      'select, insert, update (state, expires_at, decided_at, closed_at, words_changed, says, says_salt), delete',
    of: 'tasks',
    holdsWords: true,
    alias: 'v',
    key: ['approval_id'],
    columns: {
      approval_id: 'key',
      task_id: 'key',
      sponsor_key: 'key',
      round: 'integer',
      digest: 'key',
      commitment: 'key',
      salt: 'key',
      title: 'text',
      lines: 'json',
      state: 'key',
      requested_at: 'instant',
      expires_at: 'instant',
      decided_at: 'instant?',
      closed_at: 'instant?',
      words_changed: 'boolean',
      says: 'text?',
      says_salt: 'text?',
    },
  },
  approval_notices: {
    name: 'approval_notices',
    privileges: 'select, insert, update (due_at, failures, is_sent), delete',
    of: 'approvals',
    holdsWords: true,
    alias: 'n',
    key: ['approval_id'],
    columns: {
      approval_id: 'key',
      sponsor_key: 'key',
      due_at: 'instant',
      failures: 'integer',
      is_sent: 'boolean',
    },
  },
  asked_questions: {
    name: 'asked_questions',
    privileges: EVERYTHING,
    alias: 'c',
    key: ['sponsor_key', 'agent_id'],
    until: 'forget_at',
    columns: {
      sponsor_key: 'key',
      agent_id: 'key',
      asked: 'integer',
      is_refused: 'boolean',
      forget_at: 'instant',
    },
  },
  revoked_tokens: {
    name: 'revoked_tokens',
    privileges: NO_UPDATE,
    alias: 'r',
    key: ['jti'],
    until: 'forget_at',
    columns: {
      jti: 'key',
      task_id: 'key',
      revoked_at: 'instant',
      reason: 'text',
      forget_at: 'instant',
      status_list: 'key?',
    },
  },
  spent_assertions: {
    name: 'spent_assertions',
    privileges: NO_UPDATE,
    alias: 's',
    key: ['agent_id', 'jti'],
    until: 'forget_at',
    columns: { agent_id: 'key', jti: 'key', forget_at: 'instant' },
  },
  accepted_signals: {
    name: 'accepted_signals',
    privileges: NO_UPDATE,
    alias: 's',
    key: ['receiver', 'issuer', 'jti'],
    until: 'forget_at',
    columns: { receiver: 'key', issuer: 'key', jti: 'key', forget_at: 'instant' },
  },
  logouts: {
    name: 'logouts',
    privileges: EVERYTHING,
    alias: 'l',
    key: ['kind', 'name'],
    until: 'forget_at',
    columns: { kind: 'key', name: 'key', stated_at: 'instant', forget_at: 'instant' },
  },
  sessions: {
    name: 'sessions',
    privileges: EVERYTHING,
    alias: 's',
    key: ['session_hash'],
    until: 'expires_at',
    columns: {
      session_hash: 'key',
      kind: 'key',
      iss: 'key',
      sub: 'key',
      sponsor_key: 'key?',
      roles: 'key',
      sid: 'key?',
      authenticated_at: 'instant?',
      created_at: 'instant',
      last_used_at: 'instant',
      expires_at: 'instant',
      sealed_id_token: 'key?',
    },
  },
  status_lists: {
    name: 'status_lists',
    privileges: EVERYTHING,
    alias: 's',
    key: ['list_id'],
    columns: { list_id: 'key', audience: 'text', entries: 'integer', created_at: 'instant', closed_at: 'instant?' },
  },
  log_keys: {
    name: 'log_keys',
    privileges: 'select, insert, update',
    alias: 'k',
    key: ['use', 'kid', 'thumbprint'],
    columns: {
      use: 'text',
      kid: 'key',
      thumbprint: 'key',
      public_key: 'text',
      active_from: 'instant',
      active_to: 'instant?',
    },
  },
} as const satisfies Readonly<Record<string, Table>>;

/** The tables whose statements name them: those of `queries`, of `postgres/append.ts` and `sqlite/append.ts`, and of `schema.sql`. */
export const otherTables = {
  ledger: {
    name: 'ledger',
    privileges: 'select',
    isAppendOnly: true,
    key: ['ts', 'seq'],
    columns: {
      seq: 'bigint',
      ts: 'instant',
      event: 'key',
      task_id: 'key?',
      agent_id: 'key?',
      sponsor: 'key?',
      audience: 'text?',
      scope: 'text?',
      jti: 'text?',
      delegation_depth: 'integer?',
      decision: 'text?',
      reason: 'text?',
      count: 'integer?',
      detail: 'text?',
    },
  },
  ledger_archives: {
    name: 'ledger_archives',
    privileges: 'select',
    isAppendOnly: true,
    key: ['month'],
    columns: {
      month: 'key',
      archived_before: 'instant',
      archived_at: 'instant',
      first_checkpoint: 'integer?',
      last_checkpoint: 'integer?',
      first_seq: 'bigint?',
      last_seq: 'bigint?',
    },
  },
  checkpoints: {
    name: 'checkpoints',
    privileges: 'select',
    isAppendOnly: true,
    key: ['checkpoint_id'],
    columns: {
      checkpoint_id: 'integer',
      first_seq: 'bigint',
      last_seq: 'bigint',
      tree_size: 'bigint',
      root_hash: 'text',
      prev_checkpoint_hash: 'text?',
      closed_at: 'instant',
      kid: 'text',
      signature: 'text',
    },
  },
  // The row of an act stays. The role may erase only its reason.
  operator_acts: {
    name: 'operator_acts',
    privileges: 'select, insert, update (reason, salt)',
    key: ['seq'],
    columns: {
      seq: 'bigint',
      explains: 'bigint?',
      iss: 'text',
      sub: 'key',
      role: 'text',
      act: 'text',
      reason: 'text?',
      salt: 'text?',
      at: 'instant',
    },
  },
  // The role may not set `seq`: an entry with a future number would make the append that takes this number fail.
  outbox: {
    name: 'outbox',
    privileges: 'select, update (due_at, failures), delete',
    key: ['seq'],
    columns: {
      seq: 'bigint',
      due_at: 'instant',
      failures: 'integer',
    },
  },
  outbox_queueing: {
    name: 'outbox_queueing',
    privileges: 'select, update (queueing)',
    key: ['only_row'],
    columns: {
      only_row: 'boolean',
      queueing: 'boolean',
    },
  },
  log_state: {
    name: 'log_state',
    privileges: 'select, insert, update',
    key: ['only_row'],
    columns: {
      only_row: 'boolean',
      origin: 'text',
      size: 'bigint',
      root: 'text',
      note: 'text?',
      published_size: 'bigint?',
      published_note: 'text?',
      previous_size: 'bigint?',
      previous_note: 'text?',
      contradicted_size: 'bigint?',
      halted: 'text?',
    },
  },
  log_tiles: {
    name: 'log_tiles',
    privileges: 'select, insert, update',
    key: ['level', 'tile_index'],
    columns: {
      level: 'integer',
      tile_index: 'bigint',
      hashes: 'text',
    },
  },
  log_cosignatures: {
    name: 'log_cosignatures',
    privileges: EVERYTHING,
    key: ['witness'],
    columns: {
      witness: 'key',
      size: 'bigint',
      line: 'text',
      at: 'instant',
    },
  },
  log_problems: {
    name: 'log_problems',
    privileges: EVERYTHING,
    key: ['witness'],
    columns: {
      witness: 'key',
      kind: 'text',
      detail: 'text?',
      since: 'instant',
    },
  },
} as const satisfies Readonly<Record<string, TableMade>>;

export const allTables: readonly TableMade[] = Object.values<TableMade>({ ...tables, ...otherTables });

export const appendOnlyTables: readonly string[] = allTables.flatMap(({ name, isAppendOnly }) =>
  isAppendOnly ? [name] : [],
);

/** The tables that belong to `parent`, directly or through another: each of them before the one that it belongs to. */
export function tablesOf(parent: string): readonly Table[] {
  const direct = Object.values<Table>(tables).filter(({ of }) => of === parent);
  return direct.flatMap((table) => [...tablesOf(table.name), table]);
}

/** @throws Error if the table has no such column */
export function typeOf({ name, columns }: TableMade, column: string): ColumnType {
  const type = columns[column];
  if (type === undefined) throw new Error(`the table ${name} has no column ${column}`);
  return type.replace('?', '') as ColumnType;
}

/** The values of all columns of a table. Instants are in their form of the domain. */
export type RowOf<Of extends Table> = Readonly<Record<keyof Of['columns'], string | number | boolean | null>>;

/**
 * The columns of a `select`. It names each, because a release may add one: a prepared `select *` would then fail on every
 * open connection of older replicas.
 */
export function columnsOf<Of extends TableMade>(table: Of): readonly (keyof Of['columns'] & string)[] {
  return Object.keys(table.columns);
}
