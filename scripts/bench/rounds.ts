/**
 * Runs the contenders in turn, round after round and every other round backwards, so that whatever else the machine
 * does falls on all of them; each is compared with the reference in the same round only.
 */

import type { Contender } from './contender.ts';
import { driveLoad } from './load.ts';
import { processCpuSeconds } from './process-cpu.ts';

export interface Measurement {
  readonly contender: string;
  readonly round: number;
  /** Requests a second. */
  readonly rate: number;
  /** Milliseconds of the server's CPU for a request; `undefined` where it cannot be told. */
  readonly cpu: number | undefined;
  /** Milliseconds, ascending. */
  readonly latencies: Float64Array;
}

export interface RoundOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly concurrency: number;
  /** Called as each measurement is there. */
  readonly progress: (measurement: Measurement) => void;
}

/** Before the first round: long enough for the hot code to be compiled and the pools to be filled. */
const WARM_UP_SECONDS = 2;
/** Prepared for the first, shortest warm-up; nothing here is faster. */
const FIRST_GUESS = 12_000;
/** How much faster a round may become than the fastest so far, before it ends early for want of requests. */
const HEADROOM = 1.3;

export async function runRounds(
  contenders: readonly Contender[],
  options: RoundOptions,
): Promise<readonly Measurement[]> {
  const fastest = new Map<Contender, number>();
  for (const contender of contenders) {
    const { rate } = await measure(contender, 0, FIRST_GUESS, { ...options, seconds: WARM_UP_SECONDS });
    fastest.set(contender, rate);
  }
  const measurements: Measurement[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const contender of round % 2 === 1 ? contenders : [...contenders].reverse()) {
      const known = fastest.get(contender) ?? 0;
      const count = Math.ceil(known * options.seconds * HEADROOM) + options.concurrency;
      const measurement = await measure(contender, round, count, options);
      fastest.set(contender, Math.max(known, measurement.rate));
      measurements.push(measurement);
      options.progress(measurement);
    }
  }
  return measurements;
}

async function measure(
  contender: Contender,
  round: number,
  count: number,
  { seconds, concurrency }: RoundOptions,
): Promise<Measurement> {
  const requests = contender.prepare(count);
  const before = processCpuSeconds(contender.pid);
  const load = await driveLoad(contender.target, requests, { concurrency, seconds, expected: contender.expected });
  const after = processCpuSeconds(contender.pid);
  return {
    contender: contender.name,
    round,
    rate: load.answered / load.seconds,
    cpu: before === undefined || after === undefined ? undefined : ((after - before) * 1000) / load.answered,
    latencies: load.latencies,
  };
}
