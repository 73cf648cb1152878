/** The network as the doctor uses it: no request outlasts the examination, and what came back can be looked at again. */

import { type Instant, plusSeconds, secondsBetween } from '../../domain/instant.ts';
import type { Clock } from '../ports/clock.ts';
import type { Network } from '../ports/network.ts';

export interface ObservedNetwork extends Network {
  /** The status of the last answer from below a URL; `undefined` where there was none. */
  lastStatus(below: string): number | undefined;
  /** How far the other side's clock is ahead of ours, in seconds, by its last answer that told the time. */
  ahead(below: string): number | undefined;
}

interface Observation {
  readonly url: string;
  readonly status: number;
  readonly ahead: number | undefined;
}

/** @param limitMs from now on, for all requests together */
export function observedNetwork(network: Network, clock: Clock, limitMs: number): ObservedNetwork {
  const end = plusSeconds(clock.now(), limitMs / 1000);
  const observations: Observation[] = [];
  const last = (below: string) => observations.findLast(({ url }) => url.startsWith(below));
  return {
    async send(request) {
      const askedAt = clock.now();
      const left = Math.max(1, Math.floor(secondsBetween(askedAt, end) * 1000));
      const answer = await network.send({ ...request, timeoutMs: Math.min(request.timeoutMs, left) });
      const ahead = answer.date === undefined ? undefined : aheadOf(askedAt, clock.now(), answer.date);
      observations.push({ url: request.url, status: answer.status, ahead });
      return answer;
    },
    lastStatus: (below) => last(below)?.status,
    ahead: (below) => observations.findLast(({ url, ahead }) => ahead !== undefined && url.startsWith(below))?.ahead,
  };
}

/**
 * The other clock was read at some moment between asking and hearing, and tells whole seconds: what can be explained by
 * that is no difference.
 */
function aheadOf(askedAt: Instant, heardAt: Instant, told: Instant): number {
  const atLeast = secondsBetween(heardAt, told);
  const atMost = secondsBetween(askedAt, told) + 1;
  if (atLeast > 0) return atLeast;
  return atMost < 0 ? atMost : 0;
}
