/** When a record that the sink did not take is sent again (specification "Sink"). */

/** Seconds: the wait after the first failure, doubled by each further one. */
const FIRST_WAIT = 1;

/** Seconds: the longest wait, however often delivery has failed. */
const LONGEST_WAIT = 300;

/**
 * @param failures how often delivery has failed by now, at least 1
 * @returns seconds from the last failure until the next attempt
 */
export function waitAfter(failures: number): number {
  return Math.min(FIRST_WAIT * 2 ** (failures - 1), LONGEST_WAIT);
}
