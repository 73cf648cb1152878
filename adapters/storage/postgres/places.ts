/**
 * Places at the pool: so many calls at once that are about the same thing. Those beyond it wait here, without a
 * connection, so that whoever keeps the first of them waiting for a lock does not keep everybody waiting.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Connections } from './connections.ts';

/** Makes the call as soon as it has a place among those of its key, in the order in which they came. */
export type Places = <Answer>(key: string, call: () => Promise<Answer>) => Promise<Answer>;

interface Line {
  taken: number;
  readonly waiting: Set<() => void>;
}

/**
 * @param limit places for each key
 * @param waitMs how long one is waited for; then the call is not made, and StorageUnavailable is thrown
 */
export function places(limit: number, waitMs: number): Places {
  const lines = new Map<string, Line>();

  function leave(key: string, line: Line): void {
    const [next] = line.waiting;
    if (next === undefined) line.taken -= 1;
    else next();
    if (line.taken === 0) lines.delete(key);
  }

  return async (key, call) => {
    const line = lines.get(key) ?? { taken: 0, waiting: new Set() };
    lines.set(key, line);
    if (line.taken < limit) line.taken += 1;
    else await aPlace(line, waitMs);
    try {
      return await call();
    } finally {
      leave(key, line);
    }
  };
}

/** So many of a pool's connections, for those who never take more of them. */
export function shareOf(
  { run, transact }: Pick<Connections, 'run' | 'transact'>,
  size: number,
  waitMs: number,
): Pick<Connections, 'run' | 'transact'> {
  const inShare = places(size, waitMs);
  return {
    run: (query, values) => inShare('', () => run(query, values)),
    transact: (work) => inShare('', () => transact(work)),
  };
}

/** Whoever leaves hands theirs on. */
function aPlace({ waiting }: Line, waitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const begin = () => {
      clearTimeout(timer);
      waiting.delete(begin);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.delete(begin);
      reject(new StorageUnavailable('Too many are waiting for the same already'));
    }, waitMs);
    waiting.add(begin);
  });
}
