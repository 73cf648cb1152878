/** How much is done at once on SQLite, and how long is waited for whom. */

/**
 * Decisions that share one commit, at most. The disk is waited for once for all of them; more would only make the
 * event loop stand still for longer.
 */
export const BATCH_SIZE = 32;

/**
 * While decisions come several at a time, the next batch waits this long for more: about what a commit takes, so that
 * it costs a request little, and leaves a busy service fewer and fuller commits.
 */
export const GATHER_MS = 1;

/**
 * The pauses, in milliseconds, between attempts to begin while another process holds the write lock: a second in all,
 * then the answer is 503. SQLite's own waiting would stop the event loop, and with it every other request.
 */
export const LOCK_PAUSES_MS = [1, 2, 5, 10, 15, 20, 25, 25, 50, 50, 100, 100, 100, 100, 100, 100, 100, 100] as const;

/** From asking the pool to having the connection; it is only ever held for one batch. */
export const ACQUIRE_LIMIT_MS = 2_000;

/** A migration has nothing else to do than to wait for another one: a minute. */
export const MIGRATION_ATTEMPTS = 1_200;
export const MIGRATION_PAUSE_MS = 50;
