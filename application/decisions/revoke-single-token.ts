/** Revokes one token by its `jti` (specification "POST /oauth2/revoke"). */

import type { TaskId, TokenId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import type { Revocation } from '../../domain/tasks/task.ts';
import { isTokenOf } from '../../domain/tasks/token-of-task.ts';
import type { Claims } from '../../domain/tokens/claims.ts';
import { assertionLocks, assertionQuestions, isReplayed, type SpentAssertion, spend } from './assertion.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { ask } from './fact.ts';
import { exclusive } from './lock.ts';

export interface TokenRevocation extends Revocation {
  readonly tokenId: TokenId;
  readonly taskId: TaskId;
  readonly claims: Claims;
  readonly issuer: string;
  /** The revocation is kept until then. */
  readonly forgetAt: Instant;
  readonly assertion?: SpentAssertion | undefined;
  /** The `token.revoked` entry. */
  readonly entry: LedgerEntry;
}

/**
 * `already_revoked` and `no_task`: only the assertion is used up. `replayed`: nothing is written. `mismatch`: nothing is
 * written, because the token differs from its stored task; the refusal's record uses the assertion up.
 */
type RevokeTokenVerdict = 'revoked' | 'already_revoked' | 'no_task' | 'mismatch' | 'replayed';

export const revokeSingleToken = decision({
  name: 'revoke_single_token',
  transaction: 'shared',

  locks: ({ assertion, tokenId }: TokenRevocation) => [...assertionLocks(assertion), exclusive('token', tokenId)],

  asks: ({ assertion, tokenId, taskId }) => ({
    spent: assertionQuestions(assertion),
    task: ask('task_terms', taskId),
    revoked: ask('token_revoked', tokenId),
  }),

  judge: ({ assertion, entry, claims, issuer, ...revocation }, facts): Judgement<RevokeTokenVerdict> => {
    if (isReplayed(facts.spent)) return { verdict: 'replayed', effects: [] };
    if (facts.task !== undefined && !isTokenOf(facts.task, claims, issuer)) return { verdict: 'mismatch', effects: [] };
    const used = spend(assertion, facts.spent);
    if (facts.task === undefined) return { verdict: 'no_task', effects: used };
    if (facts.revoked) return { verdict: 'already_revoked', effects: used };
    return {
      verdict: 'revoked',
      effects: [...used, { effect: 'revoke_token', ...revocation }, ...recorded([entry])],
    };
  },
});
