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
  const limiters = new Map<string, ConcurrencyLimiter>();
  return async (key, call) => {
    const limiter = limiters.get(key) ?? concurrencyLimiter(limits, () => performance.now());
    limiters.set(key, limiter);
    const permit = await acquire(limiter);
    try {
      return await call();
    } finally {
      permit.release();
      if (limiter.busy === 0) limiters.delete(key);
    }
  };
}

function acquire(limiter: ConcurrencyLimiter): Promise<Permit> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const entry = limiter.acquire((permit) => {
      clearTimeout(timer);
      if (permit === undefined) reject(new StorageUnavailable('Too many decisions wait for the same person or agent'));
      else resolve(permit);
    });
    const expire = () => {
      const nextMs = limiter.expire();
      if (nextMs !== undefined) timer = setTimeout(expire, nextMs);
    };
    if (entry !== undefined) expire();
  });
}
