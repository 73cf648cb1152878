import type { Instant } from '../../domain/instant.ts';

/**
 * What time alone changes (specification "Task"; "Limits", Service:Tasks:*). Each call is one transaction on a bounded
 * number of rows and answers how many there were; a pass repeats it. Any number of instances may do so at once: none
 * waits for another, and nothing is done twice. All methods may throw StorageUnavailable; what was applied stays.
 */
export interface Sweeping {
  /**
   * Records the end of up to `limit` live tasks whose time was up by `overBy`, longest ago first: state and grants, and
   * per task, when renewals of it have no record of their own, a `token.refreshed` summary counting them, then
   * `task.expired`, dated `at`. A task ends when its time is up, so that is the end which is stored.
   */
  expire(when: { readonly overBy: Instant; readonly at: Instant }, limit: number): Promise<number>;

  /**
   * Deletes up to `limit` tasks, with their grants, that ended by `endedBy`, those that ended longest ago first. When a
   * task would have expired does not matter. A task stays for as long as one that was delegated from it is stored.
   */
  deleteEnded(endedBy: Instant, limit: number): Promise<number>;

  /**
   * Forgets up to `limit` of each kind of what had to be remembered only until `until`: used assertions, revoked tokens,
   * signals that were accepted, logouts.
   */
  forget(until: Instant, limit: number): Promise<number>;
}
