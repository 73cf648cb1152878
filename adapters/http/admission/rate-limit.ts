/** Which requests come too fast from where they come from (specification "Rate limiting"). */

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../application/ports/runtime.ts';
import { type Instant, MICROS_PER_SECOND } from '../../../domain/instant.ts';
import { permitsPerSecond, type Rate } from '../../../domain/rate.ts';
import { type Bucket, buckets } from '../routes.ts';
import { type Network, requestSource } from './request-source.ts';

export interface RateLimitRules {
  readonly main: BucketRules;
  readonly introspection: BucketRules;
  /** Each receiver has buckets of its own with these. */
  readonly signals: BucketRules;
  readonly trustedProxies: readonly Network[];
}

interface RateLimit {
  /** Takes a permit for the request; whether there was one. */
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
  /** As many requests a full bucket lets through at once; at least one second's worth of the rate. */
  readonly burst: number;
}

interface TokenBuckets {
  /** Takes a permit of the source's bucket; whether there was one. */
  take(source: string, now: Instant): boolean;
  /** How many sources are known; at most MAX_SOURCES. */
  readonly size: number;
}

/**
 * Some 5 MB. A source is known until its bucket is full again, for one second after a single request at any rate. So
 * whoever means to fill this needs as many requests a second as this, each from another source: more than an instance
 * can even refuse.
 */
const MAX_SOURCES = 50_000;

/** Known sources looked at for each new one: more than are added, so that those that can go do go. */
const SWEPT_FOR_EACH_NEW = 4;

/** Every second brings each bucket at least one permit: whoever found none has never to wait for longer. */
export const RETRY_AFTER_SECONDS = 1;

/**
 * A token bucket for each source: a burst at once, then so many requests a second. Pure but for the time it is given, in
 * constant time a request, and bounded whatever is sent.
 */
export function tokenBuckets(rules: BucketRules, maxSources = MAX_SOURCES): TokenBuckets {
  const { burst } = rules;
  const perSecond = permitsPerSecond(rules);
  const secondsSoFar = wholeSeconds();
  // What a source has taken, on top of what the seconds up to then had brought: less what they have brought by now, that
  // is what its bucket lacks. One number a source, and a refill costs nothing.
  const taken = new Map<string, number>();
  // New sources that there was no room for share one bucket. Nobody is forgotten for them: whoever comes from many
  // addresses could else have the bucket that it emptied exchanged for a full one.
  let takenByStrangers = 0;
  let hand = taken.entries();

  /** Forgets those whose buckets are full again: a new bucket is no different. A few at a time, in turn. */
  const sweep = (brought: number): void => {
    for (let step = 0; step < SWEPT_FOR_EACH_NEW; step += 1) {
      const next = hand.next();
      if (next.done === true) {
        hand = taken.entries();
        return;
      }
      const [source, total] = next.value;
      if (total <= brought) taken.delete(source);
    }
  };

  return {
    take(source, now) {
      const brought = secondsSoFar(now) * perSecond;
      const known = taken.get(source);
      if (known === undefined) sweep(brought);
      const isStranger = known === undefined && taken.size >= maxSources;
      const total = Math.max(known ?? (isStranger ? takenByStrangers : brought), brought) + 1;
      if (total - brought > burst) return false;
      if (isStranger) takenByStrangers = total;
      else taken.set(source, total);
      return true;
    },
    get size() {
      return taken.size;
    },
  };
}

/** Since the first time of asking. What a clock is put back by counts as no time: nobody waits until it has caught up. */
function wholeSeconds(): (now: Instant) => number {
  let previous: Instant | undefined;
  let elapsed = 0;
  return (now) => {
    if (previous !== undefined && now > previous) elapsed += now - previous;
    previous = now;
    return Math.floor(elapsed / MICROS_PER_SECOND);
  };
}
