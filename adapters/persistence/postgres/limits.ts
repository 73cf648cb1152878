/**
 * How long each step of talking to Postgres may take. Without these a frozen server would hang every request. They
 * nest: a lock gives up before its statement, a statement before the client that waits for it, so that in all but the
 * worst case it is the server that ends a call, and says that it did nothing.
 */

/** All in milliseconds. */
export interface Limits {
  readonly connect: number;
  /** From asking the pool to having a connection. */
  readonly acquire: number;
  readonly lock: number;
  readonly statement: number;
  /** What the client waits for an answer. */
  readonly query: number;
  /** How long a transaction may pause; IDLE_IN_TRANSACTION_LIMIT_MS unless it says so. */
  readonly idleInTransaction?: number | undefined;
}

export const SERVING_LIMITS: Limits = {
  // A server in the same data centre accepts within milliseconds; a request should not wait longer for a dead one.
  connect: 2_000,
  // Under overload a quick 503 is better than a late answer.
  acquire: 2_000,
  // Decisions hold their locks for milliseconds; who waits longer is behind something stuck.
  lock: 2_000,
  // Leaves room for waiting on a lock first.
  statement: 4_000,
  // Only a server that does not even report its own time-out runs into this one.
  query: 5_000,
};

/** For commands that read the ledger from end to end: nobody waits for an answer, and a page may come from a cold disk. */
export const AUDITING_LIMITS: Limits = {
  ...SERVING_LIMITS,
  connect: 10_000,
  acquire: 10_000,
  statement: 60_000,
  query: 70_000,
};

/** Health checks are asked every few seconds and expect their answer within one or two. */
export const READINESS_LIMITS: Limits = {
  connect: 1_000,
  acquire: 1_000,
  lock: 500,
  statement: 750,
  query: 1_000,
};

/** A drain pauses while the sink answers, for which that has ten seconds; twice that, and it has lost its client. */
export const DRAINING_LIMITS: Limits = { ...SERVING_LIMITS, idleInTransaction: 20_000 };

/**
 * Ending ten thousand tasks took 1.6 seconds on a busy two-core machine. A kill switch must not be out of reach because
 * there is much to kill: this leaves room for ten times as many, and is less than what a page of the audit allows an
 * append that may still be under way (`ledger.ts`).
 */
export const STOPPING_LIMITS: Limits = { ...SERVING_LIMITS, statement: 20_000, query: 21_000 };

/** Other transactions never pause; one that does lost its client, and must not keep its locks. */
export const IDLE_IN_TRANSACTION_LIMIT_MS = 10_000;

/** At 16 round trips at once a two-core Postgres was saturated. */
export const POOL_SIZE = 16;

/** `/readyz` has connections of its own: a starved pool must neither hide the database nor hang the answer. */
export const READINESS_POOL_SIZE = 2;

/** Operators stop one thing, then another. */
export const STOPPING_POOL_SIZE = 2;

/** One drain at a time, and a second for a while when the first hangs. */
export const DRAINING_POOL_SIZE = 2;

/** A migration may wait this long for another one, or for the tables it changes. */
export const MIGRATION_LOCK_LIMIT_MS = 60_000;

/** How often a decision that Postgres rolled back (a deadlock, a serialization failure) is made again. */
export const ATTEMPTS = 4;

/** The longest pause between such attempts, drawn at random so that the same two do not meet again. */
export const RETRY_PAUSE_MS = 40;
