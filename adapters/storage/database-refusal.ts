/** Why the server refuses a connection, or cannot be used. Only other settings or another database help, not waiting. */
export type RefusalReason =
  | 'no_such_database'
  | 'role_not_let_in'
  | 'role_without_rights'
  | 'server_too_old'
  | 'encoding_not_utf8';

/**
 * The database server answered and refused. Thrown when the service starts and by commands. A running service retries
 * instead, because the database may be coming back.
 */
export class DatabaseRefusal extends Error {
  override readonly name = 'DatabaseRefusal';
  readonly reason: RefusalReason;
  /** The role of the refused connection. */
  readonly role: 'serving' | 'migrating';

  constructor(reason: RefusalReason, role: 'serving' | 'migrating', options?: ErrorOptions) {
    super(`The database will not do (${reason})`, options);
    this.reason = reason;
    this.role = role;
  }
}
