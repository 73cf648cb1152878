/**
 * A moment at which nothing has come that has not been looked at. Whatever is closed is reset if something for it lies
 * unread with the system, and after a busy turn of the event loop much does; so a stop closes only at such a moment.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

/** What comes while a turn is busy with something else is not seen in it, so only short ones count. */
const SHORT_TURN_MS = 1;
/** The first may be over before anything has been looked at. */
const TURNS = 2;

/**
 * @param limitMs a process that is always busy must stop all the same
 * @param taken counts what has come so far, where one turn takes only one of them; a turn that adds to it is not quiet
 */
export async function quietTurn(limitMs: number, taken: () => number = () => 0): Promise<void> {
  const began = performance.now();
  for (let quiet = 0; quiet < TURNS && performance.now() - began < limitMs; ) {
    const [before, turned] = [taken(), performance.now()];
    await nextTurn();
    quiet = taken() === before && performance.now() - turned < SHORT_TURN_MS ? quiet + 1 : 0;
  }
}
