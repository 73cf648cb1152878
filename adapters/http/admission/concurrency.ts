/**
 * Limits how many requests of each kind of work are served at once (specification "Overload"). A form is read before its
 * request waits, so a slow sender holds no permit. A permit is held until the response is sent or the client leaves.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type ConcurrencyLimiter,
  type ConcurrencyLimits,
  concurrencyLimiter,
  type Permit,
} from '../../../domain/concurrency-limiter.ts';
import { readBodyAhead } from '../message/body.ts';
import { hasMediaType } from '../message/head.ts';
import { FORM_TYPES } from '../oauth/form.ts';
import type { Route, Work } from '../routes.ts';

export type WorkLimiters = Readonly<Record<Work, ConcurrencyLimiter>>;

/** Proofs hash on the one JavaScript thread, so more at once would not be faster. */
const PROOFS_AT_ONCE = 2;

export function workLimiters(limits: ConcurrencyLimits, now: () => number = () => performance.now()): WorkLimiters {
  return {
    token: concurrencyLimiter(limits, now),
    introspection: concurrencyLimiter(limits, now),
    revoking: concurrencyLimiter(limits, now),
    proof: concurrencyLimiter({ ...limits, concurrency: Math.min(PROOFS_AT_ONCE, limits.concurrency) }, now),
    other: concurrencyLimiter(limits, now),
  };
}

/**
 * Forms that are read at once, at most 64 KiB each. A client normally sends its form with the head, so one more form
 * displaces the slowest one: slow senders from many addresses hold no more memory than this, and keep no other client out.
 */
const MAX_READING = 1024;

/** Calls `serve` with a permit, or `refuse`; neither if the client has disconnected. */
type LimitConcurrency = (
  request: IncomingMessage,
  response: ServerResponse,
  route: Route,
  next: { readonly serve: () => void; readonly refuse: () => void },
) => void;

export function limitConcurrency(
  limiters: WorkLimiters,
  { maxReading = MAX_READING }: { readonly maxReading?: number } = {},
): LimitConcurrency {
  const watch = expiryTimer(limiters);
  /** For each form that is being read, the function that refuses its request; the slowest first. */
  const reading = new Map<IncomingMessage, () => void>();

  const acquire: LimitConcurrency = (_request, response, { work }, { serve, refuse }) => {
    if (response.destroyed) return;
    const start = (permit: Permit | undefined): void => {
      response.off('close', leave);
      if (permit === undefined) {
        refuse();
        return;
      }
      // 'close' is emitted once, after the response or when the client disconnects.
      response.once('close', () => permit.release());
      serve();
    };
    const leave = (): void => entry?.leave();
    const entry = limiters[work].acquire(start);
    if (entry === undefined) return;
    response.once('close', leave);
    watch();
  };

  return (request, response, route, next) => {
    if (!route.takesForm || request.method !== 'POST' || !hasMediaType(request, FORM_TYPES)) {
      acquire(request, response, route, next);
      return;
    }
    if (limiters[route.work].isFull) {
      next.refuse();
      return;
    }
    reading.set(request, () => {
      // Closing the connection frees the received part of the form.
      response.setHeader('Connection', 'close');
      next.refuse();
    });
    const [slowest] = reading;
    if (reading.size > maxReading && slowest !== undefined) {
      const [displaced, refuse] = slowest;
      reading.delete(displaced);
      refuse();
    }
    void readBodyAhead(request).then((isThere) => {
      if (reading.delete(request) && isThere) acquire(request, response, route, next);
    });
  };
}

/** One timer for all queues, running only while an entry waits. */
function expiryTimer(limiters: WorkLimiters): () => void {
  const all = Object.values(limiters);
  let timer: NodeJS.Timeout | undefined;
  const expire = (): void => {
    timer = undefined;
    const next = all.flatMap((limiter) => limiter.expire() ?? []);
    if (next.length > 0) set(Math.min(...next));
  };
  const set = (afterMs: number): void => {
    timer = setTimeout(expire, Math.ceil(afterMs));
    timer.unref();
  };
  // All entries wait equally long, so a new one is never the next to expire.
  return () => {
    if (timer === undefined) expire();
  };
}
