/** Sweeping on Postgres: each call is one of the functions of `migrations/0011-sweeping.ts`, in one round trip. */

import type { Sweeping } from '../../../application/ports/sweeping.ts';
import type { Bound } from '../rows/column.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Prepared } from './connections.ts';

const expire = { name: 'expire_tasks', text: 'select expire_tasks($1, $2, $3) as swept' };

const deleteEnded = { name: 'delete_ended_tasks', text: 'select delete_ended_tasks($1, $2) as swept' };

const forget = { name: 'forget', text: 'select forget($1, $2) as swept' };

export function postgresSweeping({ run }: Connections): Sweeping {
  const sweep = async (statement: Prepared, values: readonly Bound[]): Promise<number> => {
    const { rows } = await run<{ swept: number }>(statement, values);
    return rows[0]?.swept ?? 0;
  };
  return {
    expire: ({ overBy, at }, limit) => sweep(expire, [bindInstant(overBy), bindInstant(at), limit]),
    deleteEnded: (endedBy, limit) => sweep(deleteEnded, [bindInstant(endedBy), limit]),
    forget: (until, limit) => sweep(forget, [bindInstant(until), limit]),
  };
}
