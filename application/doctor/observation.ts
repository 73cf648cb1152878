/**
 * Observes the service's own adapters while the doctor runs them: records the status and the clock of each response, and
 * the problem that an adapter logs.
 */

import { type Instant, plusSeconds, secondsBetween } from '../../domain/instant.ts';
import type { Network } from '../ports/network.ts';
import type { Clock } from '../ports/runtime.ts';
import type { Log } from '../ports/telemetry.ts';

interface ObservedNetwork extends Network {
  /** The status of the last response from a URL that starts with `prefix`; `undefined` if there was none. */
  lastStatus(prefix: string): number | undefined;
  /** How many seconds the other clock is ahead of ours, by the last such response that had a date. */
  ahead(prefix: string): number | undefined;
}

interface Observation {
  readonly url: string;
  readonly status: number;
  readonly ahead: number | undefined;
}

/** @param limitMs the time limit for all requests together, from this call on */
export function observedNetwork(network: Network, clock: Clock, limitMs: number): ObservedNetwork {
  const end = plusSeconds(clock.now(), limitMs / 1000);
  const observations: Observation[] = [];
  return {
    async send(request) {
      const sentAt = clock.now();
      const left = Math.max(1, Math.floor(secondsBetween(sentAt, end) * 1000));
      const answer = await network.send({ ...request, timeoutMs: Math.min(request.timeoutMs, left) });
      const ahead = answer.date === undefined ? undefined : secondsAhead(sentAt, clock.now(), answer.date);
      observations.push({ url: request.url, status: answer.status, ahead });
      return answer;
    },
    lastStatus: (prefix) => observations.findLast(({ url }) => url.startsWith(prefix))?.status,
    ahead: (prefix) => observations.findLast(({ url, ahead }) => ahead !== undefined && url.startsWith(prefix))?.ahead,
  };
}

/**
 * The server read its clock between request and response, and a `Date` header has whole seconds. A difference that can
 * come from these two causes counts as 0.
 */
function secondsAhead(sentAt: Instant, receivedAt: Instant, date: Instant): number {
  const atLeast = secondsBetween(receivedAt, date);
  const atMost = secondsBetween(sentAt, date) + 1;
  if (atLeast > 0) return atLeast;
  return atMost < 0 ? atMost : 0;
}

interface RecordingLog extends Log {
  /** The field `problem` of the last warning: the adapters of the identity provider and of key sets write a sentence there. */
  problem(): string | undefined;
  /** The field `unused` of the last information: sentences about the keys of a set that are not used. */
  unused(): string | undefined;
}

/** Prints nothing; keeps the last problem. */
export function recordingLog(): RecordingLog {
  let last: string | undefined;
  let unused: string | undefined;
  return {
    info(_message, fields) {
      if (typeof fields?.unused === 'string') unused = fields.unused;
    },
    warn(_message, fields) {
      if (typeof fields?.problem === 'string') last = fields.problem;
    },
    error: () => undefined,
    problem: () => last,
    unused: () => unused,
  };
}

/** Why a request to another server failed. */
export interface Problem {
  /** The sentence that the service logs. */
  readonly sentence: string | undefined;
  /** The status of the last response; `undefined` if there was none. */
  readonly status: number | undefined;
}

/** Returns the problem in words, and a remedy if the status alone suggests one. */
export function describeProblem({ sentence, status }: Problem): {
  readonly sentence: string;
  readonly remedy: string | undefined;
} {
  const described = sentence ?? 'It did not answer in time.';
  if (status !== undefined && status >= 300 && status < 400) {
    return {
      sentence: `${described} That is a redirect, and none is followed.`,
      remedy: 'Configure the address that it leads to.',
    };
  }
  return { sentence: described, remedy: undefined };
}
