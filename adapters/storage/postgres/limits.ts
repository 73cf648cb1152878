/**
 * Time limits and pool sizes. Without limits a frozen server would hang every request. A lock's limit is shorter than its
 * statement's, and a statement's is shorter than its client's. So nearly always Postgres itself ends a call, and its error
 * says that nothing was changed.
 */

/** Limits in milliseconds. */
export interface Limits {
  /** For getting a connection from the pool, which may have to open it. */
  readonly acquire: number;
  readonly lock: number;
  readonly statement: number;
  /** The time that the client waits for an answer. */
  readonly query: number;
  /** How long a transaction may pause. The default is IDLE_IN_TRANSACTION_LIMIT_MS. */
  readonly idleInTransaction?: number | undefined;
}

export const SERVING_LIMITS: Limits = {
  // Under overload an early 503 is better than a late answer. A near server accepts connections in milliseconds.
  acquire: 2_000,
  // Decisions hold their locks for milliseconds; a longer wait means that a transaction hangs.
  lock: 2_000,
  // The statement may first wait for its lock.
  statement: 4_000,
  // Reached only if the server does not report that its own limit was reached.
  query: 5_000,
};

/** For commands that read all of the ledger: no client waits, and a page may come from a cold disk. */
export const AUDITING_LIMITS: Limits = { ...SERVING_LIMITS, acquire: 10_000, statement: 60_000, query: 70_000 };

/** A load balancer checks every few seconds, and expects an answer within one or two. */
export const READINESS_LIMITS: Limits = { acquire: 1_000, lock: 500, statement: 750, query: 1_000 };

/** A drain's transaction pauses for at most ten seconds, while the sink answers. After 20 s its client is lost. */
export const DRAINING_LIMITS: Limits = { ...SERVING_LIMITS, idleInTransaction: 20_000 };

/**
 * For decisions that may end very many tasks: kill switches, blocks, signals. Each is one transaction, because its answer
 * counts all tasks that ended. ENDING_LIMIT_MS limits the decision as a whole.
 */
export const REVOKING_LIMITS: Limits = {
  ...SERVING_LIMITS,
  // A provider sends some signals only once, so a long wait is better than losing one.
  acquire: 5_000,
  // Another transaction may be ending the tasks of the same person or agent. Few tasks are then left for this decision.
  lock: 10_000,
  // The longest statement finds and locks all tasks: 3 s for 100,000 of them on a busy two-core machine.
  statement: 12_000,
  query: 14_000,
};

/** The time limits of each pool of a serving process. */
export type LimitsByUse = Readonly<Record<'serving' | 'revoking' | 'draining' | 'readiness', Limits>>;

export const LIMITS: LimitsByUse = {
  serving: SERVING_LIMITS,
  revoking: REVOKING_LIMITS,
  draining: DRAINING_LIMITS,
  readiness: READINESS_LIMITS,
};

/** No other transaction pauses. If one does, its client is lost, and the server must release its locks. */
export const IDLE_IN_TRANSACTION_LIMIT_MS = 10_000;

/** For closing a connection, which usually takes no time. This is the limit on a frozen server. */
export const CLOSING_LIMIT_MS = 1_000;

/** Batches of decisions (`decide.ts`) and sets of reads (`set-reader.ts`) need only a few connections. */
export const POOL_SIZE = 8;

/** The connections that decisions outside of batches leave to batches, sets of reads and pages. */
export const RESERVED_CONNECTIONS = 4;

/** `/readyz` has its own connections. An exhausted pool must not look like a lost database, or delay the answer. */
export const READINESS_POOL_SIZE = 2;

/**
 * While very many tasks of an agent end, every other decision about that agent waits, and holds a connection. This limit
 * leaves connections to decisions about other agents.
 */
export const CONNECTIONS_PER_AGENT = 2;

/** The same limit for a person. It is higher, so that one slow agent does not block the person's other agents. */
export const CONNECTIONS_PER_PERSON = 3;

/**
 * How many decisions operators may run at once, and how many providers. The shares are separate: an operator may repeat a
 * slow kill switch when a proxy times out, which must not delay signals. Those of people at `/me` are among the operators'.
 */
export const REVOKING_SHARES = { operators: 2, people: 1, providers: 2 } as const;

export const REVOKING_POOL_SIZE = REVOKING_SHARES.operators + REVOKING_SHARES.providers;

/** One drain at a time. A second one may run for a while if the first hangs. */
export const DRAINING_POOL_SIZE = 2;

/** The maximum connections of one serving process, over all its pools. `max_connections` must cover all processes. */
export const CONNECTIONS_PER_PROCESS = POOL_SIZE + REVOKING_POOL_SIZE + DRAINING_POOL_SIZE + READINESS_POOL_SIZE;

/**
 * How often the pools of switches and of readiness use a connection at least. One of each is then open when connections
 * become scarce, and a promotion is noticed without requests.
 */
export const KEEP_OPEN_MS = 2_500;

/** A connection that still leads to an old primary is used for a minute at most. */
export const CONNECTION_LIFETIME_MS = 60_000;

/** The readiness pool asks every second. Its new connections notice a promotion or a restore for all pools. */
export const READINESS_LIFETIME_MS = 5_000;

/** How often the hosts that are not in use are asked whether one of them was promoted. */
export const WATCH_HOSTS_MS = 5_000;

/** After a server without free connections refused to replace one. */
export const RENEWAL_RETRY_MS = 5_000;

/** The longest pause before a switch asks again for a connection that the server did not give. */
export const BORROWING_PAUSE_MS = 100;

/** How often the server is asked whether commits without an answer have ended. */
export const ASK_UNANSWERED_MS = 1_000;

/** A migration may wait this long for another one, or for the tables that it changes. */
export const MIGRATION_LOCK_LIMIT_MS = 60_000;

/** How often a decision is attempted that Postgres rolls back (a deadlock, a serialization failure). */
export const ATTEMPTS = 4;

/**
 * The last attempt begins within this time after the first. Postgres detects a deadlock after a second. Under the limits
 * above, the last attempt then ends before its client gives up.
 */
export const RETRYING_LIMIT_MS = 2_000;

/** The longest pause between two attempts. It is random, so that the same two transactions do not meet again. */
export const RETRY_PAUSE_MS = 40;

/** After this time without an answer the watchdog asks, over another connection, whether the server answers. */
export const SILENCE_MS = 3_000;

/** After this many unanswered questions in a row the watchdog aborts the call. A busy server answers at least one. */
export const SILENT_QUESTIONS = 2;

/**
 * Decisions in one batch, which takes some 65 locks. With 32 requests under way and batches of 32, all were often in one
 * batch, and the process waited for its commit (docs/performance.md).
 */
export const BATCH_SIZE = 16;

/** While one batch waits for its commit, the next ones read their facts and are judged. */
export const BATCHES_UNDER_WAY = 3;

/** This many decisions do not wait for others, so that Postgres works while the process serves further requests. */
export const BATCHED_AT_ONCE = 8;

/** Tasks that one statement ends or records. Longer lists would block the event loop as JSON. */
export const ENDED_AT_ONCE = 5_000;

/**
 * Tasks that end in one statement, each at its own time and with its own end. The statement looks through all of them for each
 * task, so its cost grows with the square of their number.
 */
export const FEW_ENDED = 64;

/**
 * A decision begins no further statement after this time. Proxies commonly wait a minute. With the waits for a permit and
 * a connection, and the last statement's limit, the decision ends before that. So the caller still gets the error, which
 * says that nothing was changed.
 */
export const ENDING_LIMIT_MS = 35_000;
