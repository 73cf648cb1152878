/** Client assertions and their one use, on SQLite. */

import type { SpentAssertion } from '../../../application/ports/tasks.ts';
import { storable } from '../rows/text.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';

const insert = 'insert into spent_assertions (agent_id, jti, forget_at) values (?, ?, ?) on conflict do nothing';

const find = 'select 1 from spent_assertions where agent_id = ? and jti in (?, ?)';

/** False, and nothing is spent, when it or the client assertion beside it was spent before. */
export function spend(run: Run, assertion: SpentAssertion): boolean {
  if (assertion.clientAssertion !== undefined && isSpent(run, assertion)) return false;
  return spendEach(run, assertion);
}

/** Spends the one beside it also where only one of the two was spent before; the answer is false then too. */
export function spendEach(run: Run, { agentId, clientAssertion, ...assertion }: SpentAssertion): boolean {
  const each = clientAssertion === undefined ? [assertion] : [assertion, clientAssertion];
  const spent = each.map(({ jti, forgetAt }) => run(insert, [agentId, storable('jti', jti), bindInstant(forgetAt)]));
  return spent.every(({ count }) => count === 1);
}

/** Whether it or the client assertion beside it was spent before. */
export function isSpent(run: Run, { agentId, jti, clientAssertion }: SpentAssertion): boolean {
  const other = clientAssertion?.jti ?? jti;
  return run(find, [agentId, storable('jti', jti), storable('jti', other)]).count > 0;
}
