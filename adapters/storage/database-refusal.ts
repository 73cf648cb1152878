/** Why the server refuses connections, or cannot be used. Only other settings or another database help. */
export type RefusalReason =
  | 'no_such_database'
  | 'role_not_let_in'
  | 'role_without_rights'
  | 'role_may_create'
  | 'no_schema'
  | 'unusable_schema_name'
  | 'server_too_old'
  | 'encoding_not_utf8'
  | 'shared_sessions'
  | 'no_primary'
  | 'several_primaries';

/**
 * The database server answered and refused. Commands and the start of the service throw it. A running service retries
 * instead, because the database may become usable again.
 */
export class DatabaseRefusal extends Error {
  override readonly name = 'DatabaseRefusal';
  readonly reason: RefusalReason;
  /** The role of the refused connection. */
  readonly role: 'serving' | 'migrating';
  /** The SQL statement that would repair this; `undefined` if none does. */
  readonly statement: string | undefined;

  constructor(
    reason: RefusalReason,
    role: 'serving' | 'migrating',
    { statement, ...options }: ErrorOptions & { readonly statement?: string } = {},
  ) {
    super(`The database cannot be used (${reason})`, options);
    this.reason = reason;
    this.role = role;
    this.statement = statement;
  }
}
