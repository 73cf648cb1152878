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
 * For whatever may end very many tasks: kill switches, blocks, and what others tell us of a person. Each is one
 * statement, since an answer that names a number must not mean "some of them", and none must be out of reach because
 * there is much to end. On a two-core server the tasks of one agent, every one with renewals to sum up, ended within
 *
 *     10,000      100,000      300,000
 *      0.9 s       12.9 s       45.3 s      with nothing else to do
 *      1.6 s       31.7 s                   beside five times the work that it has cores for
 *
 * so what the statement may take is enough for three hundred thousand, or for a hundred thousand at the worst of times.
 * It is not more because whatever stands in between, proxies and load balancers, commonly waits for a minute: an answer
 * that says that nothing was changed has to arrive, and `acquire` and `query` together are less than that.
 */
export const STOPPING_LIMITS: Limits = {
  ...SERVING_LIMITS,
  // A provider sends some of these once and never again. It is better to wait for a turn than to lose one.
  acquire: 5_000,
  // Behind another one that ends the tasks of the same person or agent, which then has little left to do for this one.
  lock: 10_000,
  statement: 50_000,
  query: 52_000,
};

/** What the connections of a serving process keep to, by what they are for. */
export type LimitsByUse = Readonly<Record<'serving' | 'stopping' | 'draining' | 'readiness', Limits>>;

export const LIMITS: LimitsByUse = {
  serving: SERVING_LIMITS,
  stopping: STOPPING_LIMITS,
  draining: DRAINING_LIMITS,
  readiness: READINESS_LIMITS,
};

/** Other transactions never pause; one that does lost its client, and must not keep its locks. */
export const IDLE_IN_TRANSACTION_LIMIT_MS = 10_000;

/** For taking leave of a server, which takes no time; a stop waits no longer for one that is frozen. */
export const LEAVING_LIMIT_MS = 1_000;

/** At 16 round trips at once a two-core Postgres was saturated. */
export const POOL_SIZE = 16;

/** `/readyz` has connections of its own: a starved pool must neither hide the database nor hang the answer. */
export const READINESS_POOL_SIZE = 2;

/**
 * While very many tasks of an agent end, whatever else is decided about that agent waits, and holds a connection
 * meanwhile. Kept to these, it leaves the others to everybody else; and six at a few milliseconds each are more than a
 * process has the CPU for.
 */
export const PLACES_PER_AGENT = 6;

/** The same for a person. More, so that an agent which is held up leaves some to others that act for the same person. */
export const PLACES_PER_PERSON = 8;

/**
 * Two operators at the worst of it, each at something that takes its time, and two left for what providers tell us
 * meanwhile: those take milliseconds, so that two carry hundreds a second. Neither takes more, so that an operator who
 * asks for the same again and again, because a proxy did not wait, loses no signal.
 */
export const STOPPING_SHARES = { operators: 2, providers: 2 } as const;

export const STOPPING_POOL_SIZE = STOPPING_SHARES.operators + STOPPING_SHARES.providers;

/** One drain at a time, and a second for a while when the first hangs. */
export const DRAINING_POOL_SIZE = 2;

/**
 * What one serving process holds at most, all its pools together: a server's `max_connections` must allow for so many
 * times the processes, beside what it keeps for others.
 */
export const CONNECTIONS_PER_PROCESS = POOL_SIZE + STOPPING_POOL_SIZE + DRAINING_POOL_SIZE + READINESS_POOL_SIZE;

/** A migration may wait this long for another one, or for the tables it changes. */
export const MIGRATION_LOCK_LIMIT_MS = 60_000;

/** How often a decision that Postgres rolled back (a deadlock, a serialization failure) is made again. */
export const ATTEMPTS = 4;

/**
 * No attempt begins later than this after the first: Postgres looks for a deadlock after a second, and what has begun by
 * then must have ended, with everything above, before a client takes us for dead.
 */
export const RETRYING_LIMIT_MS = 2_000;

/**
 * A call that may take longer than clients wait for a server that is frozen: after so long without an answer it is
 * found out, over another connection, whether the server answers anybody.
 */
export const SILENCE_MS = 3_000;

/** A server that is only busy answers one of so many questions in a row. */
export const SILENT_QUESTIONS = 2;

/** The longest pause between such attempts, drawn at random so that the same two do not meet again. */
export const RETRY_PAUSE_MS = 40;

/** Decisions in one batch: at 32 the statements' own cost is spread thin, and a batch takes at most some 130 locks. */
export const BATCH_SIZE = 32;

/** While one batch waits for its commit, the next one is read and judged. */
export const BATCHES_UNDER_WAY = 2;

/** Tasks that one statement ends: it takes tenths of a second. */
export const ENDED_AT_ONCE = 5_000;

/** Records that one statement appends. Longer lists would block the event loop while they are written as JSON. */
export const APPENDED_AT_ONCE = 2_000;

/** A decision that ends very many tasks begins no further portion after this time; less than a proxy commonly waits. */
export const ENDING_LIMIT_MS = 50_000;
