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
 * still: a disk that hangs, very many tasks that somebody else ends, or a bug. The answer is then 503, as it is where a
 * server falls silent.
 */
export const ANSWER_LIMIT_MS = 8_000;

/**
 * How long ending tasks may take, in milliseconds, before all of it is undone and answered with 503. All other decisions
 * wait meanwhile, and are refused after the limit above. The tasks of one agent, every one with renewals to sum up,
 * ended within
 *
 *     10,000      100,000      300,000
 *      0.3 s        5.1 s      17 to 27 s
 *
 * so this is enough for three hundred thousand, or for a hundred thousand on a machine that is seven times as slow or busy.
 */
export const ENDING_LIMIT_MS = 40_000;

/**
 * As many tasks are ended by one statement, some tenths of a second's worth; the limit is looked at in between. With a
 * fifth of it all together take a third longer.
 */
export const ENDED_AT_ONCE = 10_000;

/**
 * From asking for an end of tasks to the answer: it may have to wait for another one before. Less than the minute that
 * proxies commonly wait.
 */
export const STOPPING_ANSWER_LIMIT_MS = 55_000;

/** From the death of the database's thread to a new one: short for those who wait, long for one that dies at once. */
export const RESTART_PAUSE_MS = 1_000;
