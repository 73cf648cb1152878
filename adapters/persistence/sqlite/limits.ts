/** How much is done at once on SQLite, and how long is waited for whom. */

/**
 * Decisions that share one commit, at most. The disk is waited for once for all of them; more would only make each
 * of them wait for longer.
 */
export const BATCH_SIZE = 32;

/**
 * The pauses, in milliseconds, between attempts to begin while another process holds the write lock: a second in all,
 * then the answer is 503. SQLite's own waiting would stop the database's thread, and with it every read.
 */
export const LOCK_PAUSES_MS = [1, 2, 5, 10, 15, 20, 25, 25, 50, 50, 100, 100, 100, 100, 100, 100, 100, 100] as const;

/** From asking the pool to having the connection; it is only ever held for one batch. */
export const ACQUIRE_LIMIT_MS = 2_000;

/** A migration has nothing else to do than to wait for another one: a minute. */
export const MIGRATION_ATTEMPTS = 1_200;
export const MIGRATION_PAUSE_MS = 50;

/**
 * From asking the database's thread to its answer. Everything it waits for itself has a shorter limit, so it stands
 * still: a disk that hangs, or a bug. The answer is then 503, as it is where a server falls silent.
 */
export const ANSWER_LIMIT_MS = 8_000;

/** From the death of the database's thread to a new one: short for those who wait, long for one that dies at once. */
export const RESTART_PAUSE_MS = 1_000;
