/**
 * Limits the calls that run at once for one key, so that decisions which wait for one person or agent do not use up the
 * pool's connections. Further calls wait here, without a connection, in the order in which they came.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import {
  type ConcurrencyLimiter,
  concurrencyLimiter,
  type Permit,
  type QueueEntry,
} from '../../../domain/concurrency-limiter.ts';
import { databaseClosed } from './errors.ts';

export interface KeyedLimiter {
  /** @throws StorageUnavailable if the call is not made */
  run<Answer>(key: string, call: () => Promise<Answer>): Promise<Answer>;
  /** Refuses the calls that wait, and all later calls. Calls under way go on. */
  close(): void;
}

/**
 * @param concurrency calls at once, for each key
 * @param waitMs the time that a call may wait; after it the call is refused
 */
export function keyedLimiter(concurrency: number, waitMs: number): KeyedLimiter {
  const limits = { concurrency, queue: Number.POSITIVE_INFINITY, waitMs };
  const queues = new Map<string, Queue>();
  /** The waiting calls, by the function that refuses them. */
  const waiting = new Map<(error: Error) => void, QueueEntry>();
  let isClosed = false;

  /** One timer for each queue: for its first entry. */
  function expire(queue: Queue): void {
    clearTimeout(queue.timer);
    const nextMs = queue.limiter.expire();
    queue.timer = nextMs === undefined ? undefined : setTimeout(() => expire(queue), nextMs);
  }

  function acquire(queue: Queue): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const entry = queue.limiter.acquire((permit) => {
        waiting.delete(reject);
        if (permit === undefined) reject(new StorageUnavailable('Too many decisions wait already'));
        else resolve(permit);
      });
      if (entry === undefined) return;
      waiting.set(reject, entry);
      if (queue.timer === undefined) expire(queue);
    });
  }

  return {
    async run(key, call) {
      if (isClosed) throw databaseClosed();
      const queue = queues.get(key) ?? {
        limiter: concurrencyLimiter(limits, () => performance.now()),
        timer: undefined,
      };
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
    },

    close() {
      isClosed = true;
      for (const [refuse, entry] of waiting) {
        entry.leave();
        refuse(databaseClosed());
      }
      waiting.clear();
      for (const queue of queues.values()) clearTimeout(queue.timer);
    },
  };
}

interface Queue {
  readonly limiter: ConcurrencyLimiter;
  timer: NodeJS.Timeout | undefined;
}
