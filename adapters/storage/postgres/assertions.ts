/** Client assertions as the functions of `migrations/0005-decisions.ts` take them. */

import type { SpentAssertion } from '../../../application/ports/tasks.ts';
import type { Bound } from '../rows/column.ts';
import { storable } from '../rows/text.ts';
import { bindInstant } from './column-types.ts';

/** `agent_id`, `jti` and `forget_at` of an assertion that comes alone. */
export function spent(assertion: SpentAssertion): readonly Bound[] {
  return [assertion.agentId, ...bound(assertion)];
}

/**
 * `jti` and `forget_at` of an assertion, then those of the client assertion beside it, or nulls. Of two, the lesser `jti`
 * goes first: transactions that spend the same two wait for each other in one order, and so in no circle.
 */
export function spentTogether({ clientAssertion, ...assertion }: SpentAssertion): readonly Bound[] {
  const each = clientAssertion === undefined ? [assertion] : [assertion, clientAssertion];
  const [first, second] = each.toSorted((one, other) => (one.jti < other.jti ? -1 : 1)).map(bound);
  return [...(first ?? NONE), ...(second ?? NONE)];
}

const NONE: readonly Bound[] = [null, null];

function bound({ jti, forgetAt }: Pick<SpentAssertion, 'jti' | 'forgetAt'>): readonly Bound[] {
  return [storable('jti', jti), bindInstant(forgetAt)];
}
