/** What a service does at most. */

import type { Contender } from './contender.ts';
import { driveLoad } from './load.ts';

/** Always under way. */
const CONCURRENCY = 32;
/** A second: nothing here is faster. */
export const FASTEST = 4000;

/** What was answered in a time; of several, what was answered in all of it. */
export interface Done {
  readonly answers: number;
  readonly seconds: number;
}

/** @param fastest so many a second are prepared: the turn ends early where it does more */
export async function atCeiling(contender: Contender, seconds: number, fastest: number): Promise<Done> {
  const load = { concurrency: CONCURRENCY, seconds, expected: contender.expected };
  const requests = contender.prepare(Math.ceil(fastest * seconds) + CONCURRENCY);
  const { answered, seconds: took } = await driveLoad(contender.target, requests, load);
  return { answers: answered, seconds: took };
}

/** Answers a second. */
export async function ceilingOf(contender: Contender, seconds: number): Promise<number> {
  return rateOf([await atCeiling(contender, seconds, FASTEST)]);
}

/** Answers a second, in all of it. */
export function rateOf(done: readonly Done[]): number {
  const sum = (of: keyof Done) => done.reduce((total, { [of]: value }) => total + value, 0);
  return sum('answers') / sum('seconds');
}
