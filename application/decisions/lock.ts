/**
 * The locks of the decisions, and the order in which they are taken. Two transactions that lock in the same order
 * cannot deadlock. SQLite takes none of these locks: it runs one writing transaction at a time.
 */

/**
 * The order. An engine takes all locks of a class before the next class, and then, in this order: the rows of the tasks
 * that end (`live_tasks`), the rows of their grants, and the ledger's fence, which every append takes
 * (docs/decisions/0001-ledger-paging.md). Nothing is locked later. One question locks its rows in the order of their
 * keys. A SCIM write that refuses two people asks two questions. It can therefore deadlock with another decision that
 * ends the same tasks: Postgres rolls one of the two back, and the engine retries it.
 */
export const LOCK_ORDER = [
  /** A person, by sponsor key. Exchange and refresh share it; a decision that blocks or ends tasks takes it exclusively. */
  'sponsor',
  /** A person, by `sub`. An exchange takes it if another claim is the sponsor key, because a logout names `sub`. */
  'subject',
  /** A session of the identity provider. */
  'session',
  'agent',
  /**
   * All names in `may_act_names`, and all documents of clients. Registrations and changes that could give two agents one of
   * them take it.
   */
  'agent_names',
  /** The status lists of an audience. Only their openings take it. */
  'status_audience',
  /** The keys of the transparency log. */
  'log_keys',
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
  /**
   * All requests at `/oauth2/authorize`, with key ''. Each that is kept shares it. The end of everything takes it exclusively.
   */
  'authorizing',
  /** The number of approvals that wait for a person, by `sub`. */
  'approver',
  /**
   * The row of a task. What is issued for a task below it, and an offer of it, share the lock. What takes it exclusively: the end
   * of the task, every change of its approvals, and a task that is delegated from it directly, because its children are counted. A
   * decision that ends tasks, and runs alone, takes the exclusive lock with the question `live_tasks`, in the order of that question.
   */
  'task',
  /** The row of an authorization, which one answer and one code change. Ends change it under the locks of the person or agent. */
  'authorization',
  /**
   * The row of a grant. A decision that ends the grant's task locks this row as well. A token of a task that was delegated from the
   * grant's task shares the lock, because a renewal may narrow the scope.
   */
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
