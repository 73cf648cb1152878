/** How much SQLite does at once, and the time limits. */

/**
 * The maximum number of decisions that share one commit. The disk is waited for once for all of them; more would only
 * make each of them wait longer.
 */
export const BATCH_SIZE = 32;

/**
 * Rows that change before the write-ahead log is moved into the database file: some 400 exchanges, which write 16 to 40 MB
 * of log. With fewer rows the pages that every exchange changes would be moved more often, with more each time takes longer.
 */
export const CHANGES_BETWEEN_CHECKPOINTS = 1_600;

/** After this time without a write the rest of the log is moved, so that a quiet service leaves none. */
export const IDLE_CHECKPOINT_MS = 1_000;

/**
 * The pauses, in milliseconds, between attempts to begin while another process holds the write lock: a second in all,
 * then the answer is 503. SQLite's own busy timeout would block the database thread, and with it every read.
 */
export const LOCK_PAUSES_MS = [1, 2, 5, 10, 15, 20, 25, 25, 50, 50, 100, 100, 100, 100, 100, 100, 100, 100] as const;

/** A migration waits for another process that migrates: a minute. */
export const MIGRATION_LIMIT_MS = 60_000;

/**
 * From a call of the database thread to its answer. All waits in the thread have shorter limits, so a thread that takes
 * longer is stuck: a disk hangs, another request ends very many tasks, or there is a bug. The answer is then 503.
 */
export const ANSWER_LIMIT_MS = 8_000;

/**
 * The time limit of a decision that ends tasks. After it everything is rolled back, and the answer is 503. Until then all other
 * decisions wait, and are refused after ANSWER_LIMIT_MS. Ending all tasks of one agent, each with renewals to
 * sum up, took
 *
 *     10,000      100,000      300,000
 *      0.3 s        5.1 s      17 to 27 s
 *
 * so this is enough for 300,000 tasks, or for 100,000 on a machine that is seven times slower.
 */
export const ENDING_LIMIT_MS = 40_000;

/** The number of tasks that one statement ends, or records. The time limit is checked between statements. */
export const ENDED_AT_ONCE = 10_000;

/**
 * As ANSWER_LIMIT_MS, for a decision that may end very many tasks, and may wait for another such decision. Less than
 * the minute for which proxies commonly wait.
 */
export const REVOKING_ANSWER_LIMIT_MS = 55_000;

/** From the death of the database thread to its restart: short for waiting clients, long for a thread that dies at once. */
export const RESTART_PAUSE_MS = 1_000;
