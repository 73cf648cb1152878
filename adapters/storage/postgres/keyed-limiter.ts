/**
 * Limits the concurrent calls for one key. So decisions that wait for one person or agent do not use up the pool. Further
 * calls wait without a connection, first come, first served.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import {
  type ConcurrencyLimiter,
  concurrencyLimiter,
  type Permit,
  type QueueEntry,
} from '../../../domain/concurrency-limiter.ts';
import { databaseClosed } from './errors.ts';

interface KeyedLimiter {
  /** @throws StorageUnavailable if it refuses the call: the call has waited too long, or the limiter is closed */
  run<Answer>(key: string, call: () => Promise<Answer>): Promise<Answer>;
  /** Refuses the waiting calls and all later ones. Calls under way continue. */
  close(): void;
}

/**
 * @param concurrency how many calls may run at once for each key
 * @param waitMs how long a call may wait before it is refused
 */
export function keyedLimiter(concurrency: number, waitMs: number): KeyedLimiter {
  const limits = { concurrency, queue: Number.POSITIVE_INFINITY, waitMs };
  const queues = new Map<string, Queue>();
  /** The waiting calls. The key of each is the function that rejects it. */
  const waiting = new Map<(error: Error) => void, QueueEntry>();
  let isClosed = false;

  /** Refuses the entries that have waited too long, and sets the queue's timer for the next one. */
  function expire(queue: Queue): void {
    clearTimeout(queue.timer);
    const nextMs = queue.limiter.expire();
    queue.timer = nextMs === undefined ? undefined : setTimeout(() => expire(queue), nextMs);
  }

  function acquire(queue: Queue): Promise<Permit> {
    return new Promise((resolve, reject) => {
      const entry = queue.limiter.acquire((permit) => {
        waiting.delete(reject);
        if (permit === undefined) reject(new StorageUnavailable('Waited too long for other decisions'));
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
