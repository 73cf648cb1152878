/**
 * Asks the identity provider whether agents may still act for a person (specification "Sponsor check", mode `poll`), with a
 * cache and a circuit breaker.
 */

import type { KnownStatus, SponsorDirectory, SponsorStatus } from '../../application/ports/identity-provider.ts';
import type { Network } from '../../application/ports/network.ts';
import type { Clock, Monotonic } from '../../application/ports/runtime.ts';
import { type Log, traceFields } from '../../application/ports/telemetry.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type Circuit, circuit, type Question } from './circuit.ts';
import type { ServiceTokens } from './service-token.ts';
import { askUsers, canBeAskedAbout, type PersonAnswer } from './users-service.ts';

export function polledSponsors(
  usersUrl: string,
  {
    network,
    clock,
    log,
    tokens,
    gate = circuit(clock),
    monotonic = () => performance.now(),
  }: {
    readonly network: Network;
    readonly clock: Clock;
    readonly log: Log;
    readonly tokens: ServiceTokens;
    readonly gate?: Circuit;
    readonly monotonic?: Monotonic;
  },
): SponsorDirectory {
  const service = { usersUrl, network, clock, tokens };
  const remembered = rememberedAnswers(clock, monotonic);

  async function ask(subject: string, question: Question, trace: Trace | undefined): Promise<SponsorStatus> {
    let finding: PersonAnswer = { report: 'unknown', problem: 'Asking failed.' };
    try {
      finding = await askUsers(service, subject, trace);
    } finally {
      question[finding.report]();
    }
    if ('answer' in finding) return finding.answer;
    log.warn('The identity provider did not say whether agents may act for a person.', {
      ...traceFields(trace),
      problem: finding.problem,
    });
    return 'sponsor_status_unavailable';
  }

  return {
    async status(subject, maxAge, trace) {
      if (!canBeAskedAbout(subject)) return 'sponsor_not_found';
      const known = maxAge > 0 ? remembered.find(subject, maxAge) : undefined;
      if (known !== undefined) return known;
      const question = gate.enter(subject);
      if (question === undefined) return 'sponsor_status_unavailable';
      const asked = { at: clock.now(), atMs: monotonic() };
      const status = await ask(subject, question, trace);
      if (status === 'sponsor_status_unavailable') return status;
      if (maxAge > 0) remembered.remember(subject, status, asked);
      else remembered.contradict(subject, status);
      return status;
    },
  };
}

/** When a query was sent, by the clock and by the monotonic one, in milliseconds. */
interface Asked {
  readonly at: Instant;
  readonly atMs: number;
}

/** A cache of the identity provider's answers about people (specification "Sponsor check", `CacheTtl`). */
interface RememberedAnswers {
  /** The answer to a query that was sent at most `maxAge` seconds ago, by both clocks. */
  find(subject: string, maxAge: number): KnownStatus | undefined;
  /** Caches an answer, unless a newer query's answer is cached. */
  remember(subject: string, answer: KnownStatus, asked: Asked): void;
  /** Removes a cached answer that differs from this one. */
  contradict(subject: string, answer: KnownStatus): void;
}

/** Enough for all people with live tasks. The answer of the least recent query is evicted first. */
const MAX_PEOPLE = 10_000;

/**
 * The clock alone could be set back, and reach the time of an old answer again: the monotonic one never is. It alone could
 * stand still while the machine sleeps.
 */
export function rememberedAnswers(clock: Clock, monotonic: Monotonic): RememberedAnswers {
  const people = new Map<string, Asked & { readonly answer: KnownStatus }>();
  return {
    find(subject, maxAge) {
      const known = people.get(subject);
      if (known === undefined) return undefined;
      const age = secondsBetween(known.at, clock.now());
      const isRecent = age >= 0 && age <= maxAge && monotonic() - known.atMs <= maxAge * 1000;
      return isRecent ? known.answer : undefined;
    },
    remember(subject, answer, asked) {
      const known = people.get(subject);
      if (known !== undefined && known.atMs > asked.atMs) return;
      people.delete(subject);
      people.set(subject, { ...asked, answer });
      const [eldest] = people.keys();
      if (people.size > MAX_PEOPLE && eldest !== undefined) people.delete(eldest);
    },
    contradict(subject, answer) {
      if (people.get(subject)?.answer !== answer) people.delete(subject);
    },
  };
}
