/**
 * Time limits and pool sizes. Without the limits a frozen server would hang every request. They nest: a lock's limit is
 * shorter than its statement's, and a statement's shorter than its client's. So nearly always the server ends a call, and
 * its error says that nothing was done.
 */

/** In milliseconds. */
export interface Limits {
  /** From asking the pool to having a connection, which may have to be opened. */
  readonly acquire: number;
  readonly lock: number;
  readonly statement: number;
  /** The time that the client waits for an answer. */
  readonly query: number;
  /** The time that a transaction may pause; IDLE_IN_TRANSACTION_LIMIT_MS unless set. */
  readonly idleInTransaction?: number | undefined;
}

export const SERVING_LIMITS: Limits = {
  // Under overload an early 503 is better than a late answer. A server in the same data centre accepts within milliseconds.
  acquire: 2_000,
  // Decisions hold their locks for milliseconds; a longer wait means that a transaction hangs.
  lock: 2_000,
  // The statement may first wait for its lock.
  statement: 4_000,
  // Reached only if the server does not even report its own limit.
  query: 5_000,
};

/** For commands that read the whole ledger: no client waits, and a page may come from a cold disk. */
export const AUDITING_LIMITS: Limits = { ...SERVING_LIMITS, acquire: 10_000, statement: 60_000, query: 70_000 };

/** A load balancer asks every few seconds, and expects the answer within one or two. */
export const READINESS_LIMITS: Limits = { acquire: 1_000, lock: 500, statement: 750, query: 1_000 };

/** A drain's transaction pauses while the sink answers, within ten seconds; twice that means that its client is lost. */
export const DRAINING_LIMITS: Limits = { ...SERVING_LIMITS, idleInTransaction: 20_000 };

/**
 * For decisions that may end very many tasks: kill switches, blocks, signals. Each is one transaction, because a number in
 * an answer must be the number of all tasks that ended. The time of the whole decision is ENDING_LIMIT_MS.
 */
export const REVOKING_LIMITS: Limits = {
  ...SERVING_LIMITS,
  // A provider sends some signals once and never again, so a long wait is better than losing one.
  acquire: 5_000,
  // Another transaction may be ending the tasks of the same person or agent. Then little is left to do for this one.
  lock: 10_000,
  // The longest statement finds and locks all tasks: 3 s for 100,000 of them on a busy two-core machine.
  statement: 12_000,
  query: 14_000,
};

/** The limits of a serving process's pools. */
export type LimitsByUse = Readonly<Record<'serving' | 'revoking' | 'draining' | 'readiness', Limits>>;

export const LIMITS: LimitsByUse = {
  serving: SERVING_LIMITS,
  revoking: REVOKING_LIMITS,
  draining: DRAINING_LIMITS,
  readiness: READINESS_LIMITS,
};

/** Other transactions never pause. One that does has lost its client, and must not keep its locks. */
export const IDLE_IN_TRANSACTION_LIMIT_MS = 10_000;

/** For closing a connection, which takes no time; on a frozen server shutdown waits no longer. */
export const CLOSING_LIMIT_MS = 1_000;

/** Batches and sets carry all frequent calls over a few connections. */
export const POOL_SIZE = 8;

/** Connections that decisions which run alone leave to batches, sets and pages. */
export const RESERVED_CONNECTIONS = 4;

/** `/readyz` has its own connections: an exhausted pool must neither look like a lost database nor delay the answer. */
export const READINESS_POOL_SIZE = 2;

/**
 * While very many tasks of an agent end, each decision about the agent waits, and holds a connection. This limit
 * leaves the other connections to other decisions.
 */
export const CONNECTIONS_PER_AGENT = 2;

/** The same for a person. It is higher, so a slow agent leaves some to other agents that act for the same person. */
export const CONNECTIONS_PER_PERSON = 3;

/**
 * Two operators' decisions at once, and two of providers, which usually take milliseconds. Neither group takes more: an
 * operator who repeats a kill switch, because a proxy gave up waiting, must not delay the signals.
 */
export const REVOKING_SHARES = { operators: 2, providers: 2 } as const;

export const REVOKING_POOL_SIZE = REVOKING_SHARES.operators + REVOKING_SHARES.providers;

/** One drain at a time, and a second one for a while when the first hangs. */
export const DRAINING_POOL_SIZE = 2;

/** The maximum connections of one serving process, over all its pools. `max_connections` must allow for all processes. */
export const CONNECTIONS_PER_PROCESS = POOL_SIZE + REVOKING_POOL_SIZE + DRAINING_POOL_SIZE + READINESS_POOL_SIZE;

/** A migration may wait this long for another one, or for the tables that it changes. */
export const MIGRATION_LOCK_LIMIT_MS = 60_000;

/** Attempts at a decision that Postgres rolls back (a deadlock, a serialization failure). */
export const ATTEMPTS = 4;

/**
 * The last attempt begins within this time after the first. Postgres looks for a deadlock after a second, and the last
 * attempt must end, within the limits above, before its client gives up.
 */
export const RETRYING_LIMIT_MS = 2_000;

/** The longest pause between two attempts. It is random, so that the same two transactions do not meet again. */
export const RETRY_PAUSE_MS = 40;

/** After this time without an answer the watchdog asks, over another connection, whether the server answers at all. */
export const SILENCE_MS = 3_000;

/** The number of consecutive unanswered questions after which the watchdog aborts: a busy server answers one of them. */
export const SILENT_QUESTIONS = 2;

/** Decisions in one batch: at 32 the statements' own cost is spread thin, and a batch takes at most some 130 locks. */
export const BATCH_SIZE = 32;

/** While one batch waits for its commit, the next one reads its facts and decides. */
export const BATCHES_UNDER_WAY = 2;

/** Tasks that one statement ends, or records: tenths of a second. Longer lists would block the event loop as JSON. */
export const ENDED_AT_ONCE = 5_000;

/**
 * A decision begins no further statement after this time. Together with the waits for a permit and for a connection, and
 * with the limit of the last statement, it is shorter than the minute for which proxies commonly wait: the error that says that
 * nothing was changed has to arrive.
 */
export const ENDING_LIMIT_MS = 35_000;
