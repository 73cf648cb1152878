/** A cache of the identity provider's answers about people (specification "Sponsor check", `CacheTtl`). */

import type { SponsorStatus } from '../../application/ports/identity-provider.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';

export type ProviderAnswer = Exclude<SponsorStatus, 'sponsor_status_unavailable'>;

export interface RememberedAnswers {
  /** An answer to a query that was sent at most `maxAge` seconds ago. */
  find(subject: string, maxAge: number): ProviderAnswer | undefined;
  /** An answer to an older query than the cached one is dropped. */
  remember(subject: string, answer: ProviderAnswer, askedAt: Instant): void;
  /** A status from another source: a cached answer that differs is removed. */
  contradict(subject: string, answer: ProviderAnswer): void;
}

/** Enough for all people with active tasks; the least recently queried is evicted first. */
const MAX_PEOPLE = 10_000;

export function rememberedAnswers(clock: Clock): RememberedAnswers {
  const people = new Map<string, { readonly answer: ProviderAnswer; readonly askedAt: Instant }>();
  return {
    find(subject, maxAge) {
      const known = people.get(subject);
      if (known === undefined) return undefined;
      const age = secondsBetween(known.askedAt, clock.now());
      return age >= 0 && age <= maxAge ? known.answer : undefined;
    },
    remember(subject, answer, askedAt) {
      const known = people.get(subject);
      if (known !== undefined && known.askedAt > askedAt) return;
      people.delete(subject);
      people.set(subject, { answer, askedAt });
      const [eldest] = people.keys();
      if (people.size > MAX_PEOPLE && eldest !== undefined) people.delete(eldest);
    },
    contradict(subject, answer) {
      if (people.get(subject)?.answer !== answer) people.delete(subject);
    },
  };
}
