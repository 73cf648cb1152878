/** Deletes old rows on Postgres, some at a time (application/ports/storage.ts, Sweeping). */

import type { Sweeping } from '../../../application/ports/storage.ts';
import { bindInstant } from './column-types.ts';
import type { Connections } from './connections.ts';
import { LOCK } from './locks.ts';

const tryLock = { name: 'try_forgetting', text: `select pg_try_advisory_xact_lock(${LOCK.forgetting}, 0) as held` };

/**
 * By ctid: no other transaction changes these rows, and by their keys a planner would join them, and read the whole table
 * for each batch.
 */
const deletions = ['spent_assertions', 'revoked_tokens', 'accepted_signals', 'logouts'].map((table) => ({
  name: `forget_${table}`,
  text: `delete from ${table} where ctid = any (array(
    select ctid from ${table} where forget_at <= $1 order by forget_at limit $2))`,
}));

export function postgresSweeping({ transact }: Connections): Sweeping {
  return {
    // A serving role may not lock these rows, so one instance at a time deletes them.
    forget: (until, limit) =>
      transact(async (run) => {
        const { rows } = await run<{ held: boolean }>(tryLock);
        if (rows[0]?.held !== true) return 0;
        let forgotten = 0;
        for (const deletion of deletions) forgotten += (await run(deletion, [bindInstant(until), limit])).count;
        return forgotten;
      }),
  };
}
