/** Uses up the assertion of a request that changes nothing else (supplement "Client assertions"). */

import { assertionLocks, assertionQuestions, isReplayed, type SpentAssertion, spend } from './assertion.ts';
import { decision, type Judgement } from './decision.ts';

/** `replayed`: the assertion was used before. */
type SpendVerdict = 'spent' | 'replayed';

export const spendAssertion = decision({
  name: 'spend_assertion',
  transaction: 'shared',
  locks: (assertion: SpentAssertion) => assertionLocks(assertion),
  asks: (assertion) => ({ spent: assertionQuestions(assertion) }),
  judge: (assertion, { spent }): Judgement<SpendVerdict> =>
    isReplayed(spent) ? { verdict: 'replayed', effects: [] } : { verdict: 'spent', effects: spend(assertion, spent) },
});
