/** Batch sizes and time limits on SQLite. */

/**
 * How many decisions may share a commit, and so one wait for the disk. With 32 requests under way and batches of 32, all
 * were often in one batch, and the main thread waited for its commit (docs/performance.md).
 */
export const BATCH_SIZE = 16;

/**
 * How many rows change before the write-ahead log is moved into the database file: some 400 exchanges, or 16 to 40 MB of
 * log. With fewer, the pages that every exchange changes are moved more often. With more, each move takes longer.
 */
export const CHANGES_BETWEEN_CHECKPOINTS = 1_600;

/** After this time without a write the rest of the log is moved, so that an idle service leaves no log. */
export const IDLE_CHECKPOINT_MS = 1_000;

/**
 * Pauses between attempts to begin a transaction while another process holds the write lock. After a second of pauses the
 * answer is 503. SQLite's own busy timeout would block the database thread, and with it every read.
 */
export const LOCK_PAUSES_MS = [1, 2, 5, 10, 15, 20, 25, 25, 50, 50, 100, 100, 100, 100, 100, 100, 100, 100] as const;

/** How often it is checked that the path still names the opened file. A decision is refused within a second. */
export const FILE_CHECK_MS = 500;

/**
 * A start checks every page of a database file and its write-ahead log up to this size: 0.7 s from a slow disk (100 MB/s).
 * A process checks larger ones while the service runs. The ledger of 1 million records has 380 MB: 4.0 s from that disk, 0.3
 * to 0.4 s from memory.
 */
export const CHECKED_AT_ONCE_BYTES = 64 * 1024 * 1024;

/** A readiness check writes if nothing was written for this time. */
export const WRITE_PROBE_MS = 1_000;

/** How long a migration waits for another process that migrates. */
export const MIGRATION_LIMIT_MS = 60_000;

/**
 * The time limit of a call to the database thread. All waits inside the thread have shorter limits. So a thread that
 * exceeds this is stuck: a disk hangs, another request ends very many tasks, or there is a bug. The answer is then 503.
 */
export const ANSWER_LIMIT_MS = 8_000;

/**
 * The time limit of a decision that ends tasks. After it the decision is rolled back, and the answer is 503. Until then
 * all other decisions wait, and are refused after ANSWER_LIMIT_MS. Ending all tasks of one agent, each with renewals to
 * sum up, took
 *
 *     10,000      100,000      300,000
 *      0.3 s        5.1 s      17 to 27 s
 *
 * So this is enough for 300,000 tasks, or for 100,000 on a machine that is seven times slower.
 */
export const ENDING_LIMIT_MS = 40_000;

/** How many tasks one statement ends or records. The deadline is checked between statements. */
export const ENDED_AT_ONCE = 10_000;

/**
 * Like ANSWER_LIMIT_MS, but for a decision that may end very many tasks, and may wait for another such decision. It is
 * less than the minute for which proxies commonly wait.
 */
export const REVOKING_ANSWER_LIMIT_MS = 55_000;

/**
 * The pause between the database thread's death and its restart. Clients wait meanwhile, but a thread that fails at once
 * must not restart in a tight loop.
 */
export const RESTART_PAUSE_MS = 1_000;
