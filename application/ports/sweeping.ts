import type { Instant } from '../../domain/instant.ts';

/**
 * Changes that only the passing of time causes (specification "Task"; "Limits", Service:Tasks:*). Each call is one
 * transaction on at most `limit` rows and returns their number; a pass repeats it. Instances may run concurrently: none
 * waits for another, and no row is handled twice. All methods may throw StorageUnavailable; committed calls stay.
 */
export interface Sweeping {
  /**
   * Records the expiry of up to `limit` live tasks that expired by `overBy`, oldest first, with their grants. The
   * stored end is the task's own expiry. Appends per task, dated `at`: a `token.refreshed` summary that counts renewals
   * without their own record, if there are any, and then `task.expired`.
   */
  expire(when: { readonly overBy: Instant; readonly at: Instant }, limit: number): Promise<number>;

  /**
   * Deletes up to `limit` tasks that ended by `endedBy`, with their grants, earliest end first. An ended task's
   * original expiry does not matter. A task stays while a task delegated from it is stored.
   */
  deleteEnded(endedBy: Instant, limit: number): Promise<number>;

  /**
   * Deletes up to `limit` rows of each kind that had to be kept only until `until`: used assertions, revoked tokens,
   * accepted signals, logouts.
   */
  forget(until: Instant, limit: number): Promise<number>;
}
