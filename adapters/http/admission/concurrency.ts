/**
 * Limits how many requests of each kind of work run at once (specification "Overload"). Form bodies are read before
 * their requests wait, so a slow sender holds no permit. A request holds one until its response is sent or its client
 * leaves.
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
import type { ServedRequest } from '../server/message-classes.ts';

export type WorkLimiters = Readonly<Record<Work, ConcurrencyLimiter>>;

/** Computing a proof uses the only JavaScript thread, so more at once would not be faster. */
const PROOFS_AT_ONCE = 2;

/**
 * A sign-in waits up to ten seconds for the identity provider, and anybody can begin one. The provider's few answers a
 * second need no more than this; each further permit would only be a socket and memory that a slow provider holds.
 */
const SIGN_INS_AT_ONCE = 8;

export function workLimiters(limits: ConcurrencyLimits, now: () => number = () => performance.now()): WorkLimiters {
  const atMost = (concurrency: number) => ({ ...limits, concurrency: Math.min(concurrency, limits.concurrency) });
  return {
    token: concurrencyLimiter(limits, now),
    introspection: concurrencyLimiter(limits, now),
    revoking: concurrencyLimiter(limits, now),
    proof: concurrencyLimiter(atMost(PROOFS_AT_ONCE), now),
    sign_in: concurrencyLimiter(atMost(SIGN_INS_AT_ONCE), now),
    console_sign_in: concurrencyLimiter(atMost(SIGN_INS_AT_ONCE), now),
    other: concurrencyLimiter(limits, now),
  };
}

/**
 * How many form bodies are read at once, each of at most 64 KiB. If one more arrives, the request that has been sending
 * longest is refused: clients normally send the form with the head. So slow senders from many addresses use no more memory
 * than this, and keep no other client out.
 */
const MAX_READING = 1024;

/** Calls `serve` once the request has a permit, or `refuse`. Calls neither if the client has disconnected. */
type LimitConcurrency = (
  request: ServedRequest,
  response: ServerResponse,
  route: Route,
  next: { readonly serve: () => void; readonly refuse: () => void },
) => void;

export function limitConcurrency(
  limiters: WorkLimiters,
  { maxReading = MAX_READING }: { readonly maxReading?: number } = {},
): LimitConcurrency {
  const watch = expiryTimer(limiters);
  /** The requests whose form is being read, the oldest first, each with the function that refuses it. */
  const reading = new Map<IncomingMessage, () => void>();

  const acquire: LimitConcurrency = (request, response, { work }, { serve, refuse }) => {
    if (response.destroyed) return;
    const start = (permit: Permit | undefined): void => {
      response.off('close', leave);
      if (permit === undefined) {
        refuse();
        return;
      }
      // 'close' is emitted once: after the response, or when the client disconnects.
      response.once('close', () => permit.release());
      request.permit = permit;
      serve();
    };
    const leave = (): void => entry?.leave();
    const entry = limiters[work].acquire(start);
    if (entry === undefined) return;
    response.once('close', leave);
    watch();
  };

  return (request, response, route, next) => {
    if (!route.takesForm || request.method !== 'POST' || !hasMediaType(request, FORM_TYPES, 'any')) {
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

/** One timer for all queues, which runs only while a request waits. */
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
  // All requests wait equally long, so a new one never expires first.
  return () => {
    if (timer === undefined) expire();
  };
}
