/** Limits the rate of requests by token buckets, one for each source (specification "Rate limiting"). */

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../application/ports/runtime.ts';
import { type Instant, MICROS_PER_SECOND } from '../../../domain/instant.ts';
import { permitsPerSecond, type Rate } from '../../../domain/rate.ts';
import { type Bucket, buckets } from '../routes.ts';
import { type Network, requestSource } from './request-source.ts';

export interface RateLimitRules {
  readonly main: BucketRules;
  readonly introspection: BucketRules;
  /** For each receiver of signals (logout, SCIM, events), in separate buckets. */
  readonly signals: BucketRules;
  readonly trustedProxies: readonly Network[];
}

interface RateLimit {
  /** Takes a permit from the bucket of the request's source. Returns `false` if the bucket is empty. */
  take(request: IncomingMessage, bucket: Bucket): boolean;
}

export function rateLimit(rules: RateLimitRules, clock: Clock): RateLimit {
  const rulesOf: Readonly<Record<Bucket, BucketRules>> = {
    main: rules.main,
    introspection: rules.introspection,
    logout: rules.signals,
    scim: rules.signals,
    events: rules.signals,
  };
  const known = new Map<Bucket, TokenBuckets>(buckets.map((bucket) => [bucket, tokenBuckets(rulesOf[bucket])]));
  const sourceOf = requestSource(rules.trustedProxies);
  return {
    take: (request, bucket) => known.get(bucket)?.take(sourceOf(request), clock.now()) ?? true,
  };
}

export interface BucketRules extends Rate {
  /** How many requests a full bucket allows at once: at least one second of the rate. */
  readonly burst: number;
}

interface TokenBuckets {
  /** Takes a permit from the source's bucket. Returns `false` if the bucket is empty. */
  take(source: string, now: Instant): boolean;
  /** The number of sources with their own bucket; at most `maxSources`. */
  readonly size: number;
}

/**
 * About 5 MB. A bucket is forgotten when it is full again: one second after a single request. So reaching this limit takes
 * as many requests a second, each from another source. That is more than an instance can refuse.
 */
const MAX_SOURCES = 50_000;

/** How many buckets are examined for each new source: more than one, so that removal is faster than growth. */
const SWEPT_FOR_EACH_NEW = 4;

/** A bucket gains at least one permit a second, so no client has to wait longer. */
export const RETRY_AFTER_SECONDS = 1;

/** A token bucket for each source. Each request takes constant time, and memory is bounded. */
export function tokenBuckets(rules: BucketRules, maxSources = MAX_SOURCES): TokenBuckets {
  const { burst } = rules;
  const perSecond = permitsPerSecond(rules);
  const secondsSoFar = wholeSeconds();
  // For each source, the value of `refilled` at which its bucket is full again. `refilled` is the number of permits that
  // a bucket has gained since the first request.
  const fullAt = new Map<string, number>();
  // When there is no room, all new sources share this bucket. No known source is forgotten for them: otherwise a client
  // with many addresses could replace an empty bucket by a full one.
  let overflowFullAt = 0;
  let sweepPosition = fullAt.entries();

  /** Forgets full buckets. Examines a few, and continues there the next time. */
  const sweep = (refilled: number): void => {
    for (let step = 0; step < SWEPT_FOR_EACH_NEW; step += 1) {
      const next = sweepPosition.next();
      if (next.done === true) {
        sweepPosition = fullAt.entries();
        return;
      }
      const [source, full] = next.value;
      if (full <= refilled) fullAt.delete(source);
    }
  };

  return {
    take(source, now) {
      const refilled = secondsSoFar(now) * perSecond;
      const known = fullAt.get(source);
      if (known === undefined) sweep(refilled);
      const overflows = known === undefined && fullAt.size >= maxSources;
      const full = Math.max(known ?? (overflows ? overflowFullAt : refilled), refilled) + 1;
      if (full - refilled > burst) return false;
      if (overflows) overflowFullAt = full;
      else fullAt.set(source, full);
      return true;
    },
    get size() {
      return fullAt.size;
    },
  };
}

/** Seconds since the first call. A clock that moved backwards counts as zero elapsed time, so no source waits longer. */
function wholeSeconds(): (now: Instant) => number {
  let previous: Instant | undefined;
  let elapsed = 0;
  return (now) => {
    if (previous !== undefined && now > previous) elapsed += now - previous;
    previous = now;
    return Math.floor(elapsed / MICROS_PER_SECOND);
  };
}
