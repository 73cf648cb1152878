/**
 * Access tokens of people, for exchanges. All servers of a run get the same tokens, each once, because a token takes the
 * load generator longer to sign (RS256) than the rest of a request.
 */

import type { IdentityProvider } from '../../test/support/identity-provider/identity-provider.ts';
import { personToken } from '../requests.ts';

export interface SubjectTokens {
  readonly provider: IdentityProvider;
  /** The token of a number. It is signed at its first use. */
  nth(index: number): string;
  /** @returns a function that gives the tokens in order, beginning with the first */
  inOrder(): () => string;
}

/** Enough people that no person's row is a bottleneck, as in production. */
const PEOPLE = 1000;

export function subjectTokens(provider: IdentityProvider): SubjectTokens {
  const tokens: string[] = [];
  const nth = (index: number): string => {
    const token = tokens[index] ?? personToken(provider, `person-${index % PEOPLE}`);
    tokens[index] = token;
    return token;
  };
  return {
    provider,
    nth,
    inOrder() {
      let next = 0;
      return () => nth(next++);
    },
  };
}
