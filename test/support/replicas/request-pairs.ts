/** Sends pairs of requests at almost the same time, many pairs at once. */

import { setTimeout as pause } from 'node:timers/promises';
import { lockAppends } from '../../contract/append-lock.ts';
import type { OutsideConnection, TestDatabase } from '../databases.ts';
import type { Answer } from '../mandate.ts';

/** A response, when its request was sent and when it arrived, in milliseconds. */
interface Timed {
  readonly answer: Answer;
  readonly asked: number;
  readonly answered: number;
}

export interface Pair {
  readonly one: Timed;
  readonly other: Timed;
}

/** About as long as a decision takes under load. */
const MOMENT_MS = 8;

/** In how many orders `sendPair` sends two requests. */
export const ORDERS = 5;

/** @param nth selects the order: both at once, one slightly earlier, or one after the other */
export async function sendPair(nth: number, one: () => Promise<Answer>, other: () => Promise<Answer>): Promise<Pair> {
  const moment = () => pause(Math.random() * MOMENT_MS);
  switch (nth % ORDERS) {
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

/** About as many as three processes have database connections. */
const BATCH = 50;

/**
 * Runs rounds in batches: prepares all rounds of a batch, then starts them together. In every third batch a lock on the
 * ledger keeps their transactions open at the same time.
 * @param prepare resolves with a function that starts the round
 */
export async function inBatches<Result>(
  { kind, outside }: { readonly kind: TestDatabase; readonly outside: OutsideConnection },
  rounds: number,
  prepare: (nth: number) => Promise<() => Promise<Result>>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let from = 0; from < rounds; from += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, rounds - from) }, (_, index) => from + index);
    const batch = await Promise.all(numbers.map(prepare));
    const lock = (from / BATCH) % 3 === 0 ? await lockAppends(kind, outside) : undefined;
    const running = Promise.all(batch.map((start) => start()));
    if (lock !== undefined) {
      await lock.untilNoNewWaiter();
      await lock.release();
    }
    results.push(...(await running));
  }
  return results;
}
