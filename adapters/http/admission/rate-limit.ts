/** Which requests come too fast from where they come from (specification "Rate limiting"). */

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../application/ports/runtime.ts';
import { type Bucket, buckets } from '../routes.ts';
import type { Network } from './network.ts';
import { requestSource } from './request-source.ts';
import { type BucketRules, type TokenBuckets, tokenBuckets } from './token-buckets.ts';

export interface RateLimitRules {
  readonly main: BucketRules;
  readonly introspection: BucketRules;
  /** Each receiver has buckets of its own with these. */
  readonly signals: BucketRules;
  readonly trustedProxies: readonly Network[];
}

export interface RateLimit {
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
