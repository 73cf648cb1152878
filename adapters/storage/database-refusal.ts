/** Why the server refuses connections, or cannot be used. Only other settings or another database help. */
export type RefusalReason =
  | 'no_such_database'
  | 'role_not_let_in'
  | 'role_without_rights'
  | 'server_too_old'
  | 'encoding_not_utf8';

/**
 * The database server answered and refused. Commands and the start of the service throw it. A running service retries
 * instead, because the database may become usable again.
 */
export class DatabaseRefusal extends Error {
  override readonly name = 'DatabaseRefusal';
  readonly reason: RefusalReason;
  /** The role of the refused connection. */
  readonly role: 'serving' | 'migrating';

  constructor(reason: RefusalReason, role: 'serving' | 'migrating', options?: ErrorOptions) {
    super(`The database cannot be used (${reason})`, options);
    this.reason = reason;
    this.role = role;
  }
}
