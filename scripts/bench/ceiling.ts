/** What a service does at most. */

import type { Contender } from './contender.ts';
import { driveLoad } from './load.ts';

/** Always under way. */
const CONCURRENCY = 32;
/** A second: nothing here is faster. */
const FASTEST = 4000;

/** Answers a second. */
export async function ceilingOf({ target, expected, prepare }: Contender, seconds: number): Promise<number> {
  const load = { concurrency: CONCURRENCY, seconds, expected };
  const { answered, seconds: took } = await driveLoad(target, prepare(FASTEST * seconds), load);
  return answered / took;
}
