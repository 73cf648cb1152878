/** Runs queries and transactions (`../queries/query.ts`) on Postgres. */

import { byKeys, postgres, type Values } from '../dialect.ts';
import type { Ask, Change } from '../queries/query.ts';
import { answer, perform } from './answer.ts';
import { SERVING_LIMITS } from './limits.ts';
import type { Connections } from './pool/pool.ts';
import { setReader } from './set-reader.ts';

/** A bitmap scan loses the order of its index. */
const keepOrder = { name: 'keep_order', text: "select set_config('enable_bitmapscan', 'off', true)" };

/** @param waitMs how long a read by key may wait while Postgres does not answer */
export function postgresAsk(
  { run, readTogether }: Pick<Connections, 'run' | 'readTogether'>,
  waitMs: number = SERVING_LIMITS.acquire,
): Ask {
  const readers = new Map<string, ReturnType<typeof setReader<never>>>();

  function readByKey(name: string, text: string, key: Readonly<Record<string, string>>, values: Values) {
    let reader = readers.get(name);
    if (reader === undefined) {
      const keys = Object.entries(key).map((column) => column.join(' '));
      reader = setReader<never>(run, { name, keys: keys.join(', '), found: byKeys(text) }, waitMs);
      readers.set(name, reader);
    }
    return reader(values);
  }

  return async (query, question) => {
    const { name, text, plan, key } = query;
    if (name !== undefined && key !== undefined && typeof text === 'string') {
      const row = await readByKey(name, text, key, query.values?.(question, postgres) ?? {});
      return query.read(row === undefined ? [] : [row], question);
    }
    if (plan === undefined) return answer(run, query, question);
    return readTogether(async (within) => {
      if (plan === 'in_order') await within(keepOrder);
      return answer(within, query, question);
    });
  };
}

/**
 * Uses `transact` also for one command, and never `run`: `transact` refuses writes while commits get no answer, and so
 * leaves the connections to reads.
 */
export function postgresChange({ transact }: Pick<Connections, 'transact'>): Change {
  return (begin) =>
    transact(async (run) => {
      const steps = begin();
      let next = steps.next();
      while (!next.done) next = steps.next((await perform(run, next.value.command, next.value.input)).count);
      return next.value;
    });
}
