/** Client assertions and their one use, on SQLite. */

import type { SpentAssertion } from '../../../application/ports/tasks.ts';
import { storable } from '../sql/text.ts';
import { bindInstant } from './column-types.ts';
import type { Run } from './connections.ts';

const insert = 'insert into spent_assertions (agent_id, jti, forget_at) values (?, ?, ?) on conflict do nothing';

const find = 'select 1 from spent_assertions where agent_id = ? and jti = ?';

/** False when it was spent before. */
export function spend(run: Run, { agentId, jti, forgetAt }: SpentAssertion): boolean {
  return run(insert, [agentId, storable('jti', jti), bindInstant(forgetAt)]).count === 1;
}

export function isSpent(run: Run, { agentId, jti }: SpentAssertion): boolean {
  return run(find, [agentId, storable('jti', jti)]).count === 1;
}
