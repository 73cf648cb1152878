/**
 * Limits the calls that run at once for one key, so that decisions which wait for one person or agent do not use up the
 * pool's connections. Further calls wait here, without a connection, in the order in which they came.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { type ConcurrencyLimiter, concurrencyLimiter, type Permit } from '../../../domain/concurrency-limiter.ts';

export type Limited = <Answer>(key: string, call: () => Promise<Answer>) => Promise<Answer>;

/**
 * @param concurrency calls at once, for each key
 * @param waitMs the time that a call may wait; after it StorageUnavailable is thrown, and the call is not made
 */
export function keyedLimiter(concurrency: number, waitMs: number): Limited {
  const limits = { concurrency, queue: Number.POSITIVE_INFINITY, waitMs };
  const queues = new Map<string, Queue>();

  /** One timer for each queue: for its first entry. */
  function expire(queue: Queue): void {
    clearTimeout(queue.timer);
    const nextMs = queue.limiter.expire();
    queue.timer = nextMs === undefined ? undefined : setTimeout(() => expire(queue), nextMs);
  }

  function acquire(queue: Queue): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const entry = queue.limiter.acquire((permit) => {
        if (permit === undefined) reject(new StorageUnavailable('Too many decisions wait already'));
        else resolve(permit);
      });
      if (entry !== undefined && queue.timer === undefined) expire(queue);
    });
  }

  return async (key, call) => {
    const queue = queues.get(key) ?? { limiter: concurrencyLimiter(limits, () => performance.now()), timer: undefined };
    queues.set(key, queue);
    const permit = await acquire(queue);
    try {
      return await call();
    } finally {
      permit.release();
      if (queue.limiter.busy === 0) {
        clearTimeout(queue.timer);
        queues.delete(key);
      }
    }
  };
}

interface Queue {
  readonly limiter: ConcurrencyLimiter;
  timer: NodeJS.Timeout | undefined;
}
