/**
 * The locks of the decisions, and the one order in which they are taken. Two transactions that lock in one order
 * cannot deadlock. SQLite takes none of them: its transactions write one after another.
 */

/**
 * The order. An engine takes all locks of a class before the next class, and then, in this order: the rows of the tasks
 * that end (`live_tasks`), the rows of their grants, and the ledger's fence, which every append takes
 * (docs/decisions/0001-ledger-paging.md). Nothing is locked later. One question locks its rows in the order of their
 * keys. A SCIM write about two refused people asks two questions, so it can deadlock with another end of the same
 * tasks: Postgres rolls one of them back, and it is retried.
 */
export const LOCK_ORDER = [
  /** A person, by sponsor key. Exchange and refresh share it; a decision that blocks or ends takes it exclusively. */
  'sponsor',
  /** A person, by `sub`: taken by an exchange where the sponsor key is another claim, because a logout names `sub`. */
  'subject',
  /** A session of the identity provider. */
  'session',
  'agent',
  /** A provisioned user, by id. */
  'user',
  /** All names of provisioned users, and with them the number of users. */
  'user_names',
  /** An accepted signal, by receiver, issuer and `jti`. */
  'signal',
  /** A client assertion, by agent and `jti`. */
  'assertion',
  /** A token, by `jti`. */
  'token',
  /** The row of a task. A task that is delegated from it shares the lock; the end of the task takes it exclusively. */
  'task',
  /** The row of a grant. The end of its task takes it as well, whichever of the locks above that end holds. */
  'grant',
] as const;
export type LockClass = (typeof LOCK_ORDER)[number];

export interface Lock {
  readonly on: LockClass;
  readonly key: string;
  readonly mode: 'shared' | 'exclusive';
}

export function shared(on: LockClass, key: string): Lock {
  return { on, key, mode: 'shared' };
}

export function exclusive(on: LockClass, key: string): Lock {
  return { on, key, mode: 'exclusive' };
}
