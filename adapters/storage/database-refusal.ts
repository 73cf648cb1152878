/**
 * What the server refuses a connection for, or what it is unfit for; no waiting changes it, only other settings or another
 * database.
 */
export type RefusalReason =
  | 'no_such_database'
  | 'role_not_let_in'
  | 'role_without_rights'
  | 'server_too_old'
  | 'encoding_not_utf8';

/**
 * The database server answered, and its answer was no. Thrown where a start or a command asks for the first time: a
 * service that is running goes on trying, since the database may be on its way back.
 */
export class DatabaseRefusal extends Error {
  override readonly name = 'DatabaseRefusal';
  readonly reason: RefusalReason;
  /** Whose connection it was. */
  readonly role: 'serving' | 'migrating';

  constructor(reason: RefusalReason, role: 'serving' | 'migrating', options?: ErrorOptions) {
    super(`The database will not do (${reason})`, options);
    this.reason = reason;
    this.role = role;
  }
}
