/** Starts pairs of requests at almost the same time, many pairs at once. */

import { setTimeout as pause } from 'node:timers/promises';
import { holdAppends } from '../../contract/hold.ts';
import type { Outside, TestDatabase } from '../databases.ts';
import type { Answer } from '../mandate.ts';

/** A response with the times of its request and its arrival, in milliseconds. */
interface Timed {
  readonly answer: Answer;
  readonly asked: number;
  readonly answered: number;
}

export interface Pair {
  readonly one: Timed;
  readonly other: Timed;
}

/** About the duration of a decision under load. */
const MOMENT_MS = 8;

/** @param nth selects the order: together, one slightly earlier, or one after the other */
export async function meet(nth: number, one: () => Promise<Answer>, other: () => Promise<Answer>): Promise<Pair> {
  const moment = () => pause(Math.random() * MOMENT_MS);
  switch (nth % 5) {
    case 0:
      return inOrder(Promise.all([timed(one), timed(other)]));
    case 1:
      return inOrder(Promise.all([timed(one), moment().then(() => timed(other))]));
    case 2:
      return inOrder(Promise.all([moment().then(() => timed(one)), timed(other)]));
    case 3: {
      const first = await timed(one);
      return { one: first, other: await timed(other) };
    }
    default: {
      const first = await timed(other);
      return { one: await timed(one), other: first };
    }
  }
}

async function inOrder(both: Promise<[Timed, Timed]>): Promise<Pair> {
  const [one, other] = await both;
  return { one, other };
}

async function timed(ask: () => Promise<Answer>): Promise<Timed> {
  const asked = performance.now();
  const answer = await ask();
  return { answer, asked, answered: performance.now() };
}

/** About the number of database connections of three processes. */
const WAVE = 50;

/**
 * Plays rounds in waves: prepares all rounds of a wave, then starts them together. In every third wave a lock on the
 * ledger keeps all transactions open at once. @param prepare resolves with the function that starts the round
 */
export async function inWaves<Played>(
  { kind, outside }: { readonly kind: TestDatabase; readonly outside: Outside },
  rounds: number,
  prepare: (nth: number) => Promise<() => Promise<Played>>,
): Promise<readonly Played[]> {
  const played: Played[] = [];
  for (let from = 0; from < rounds; from += WAVE) {
    const numbers = Array.from({ length: Math.min(WAVE, rounds - from) }, (_, index) => from + index);
    const wave = await Promise.all(numbers.map(prepare));
    const hold = (from / WAVE) % 3 === 0 ? await holdAppends(kind, outside) : undefined;
    const under = Promise.all(wave.map((start) => start()));
    if (hold !== undefined) {
      await hold.gathering();
      await hold.release();
    }
    played.push(...(await under));
  }
  return played;
}
