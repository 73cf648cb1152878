/** Deletes rows that are no longer needed on Postgres, some at a time (application/ports/storage.ts, Sweeping). */

import type { Sweeping } from '../../../application/ports/storage.ts';
import { unusedLists } from '../rows/status-list-row.ts';
import { bindInstant } from './column-types.ts';
import type { Connections } from './connections.ts';
import { LOCK } from './locks.ts';

const tryLock = { name: 'try_forgetting', text: `select pg_try_advisory_xact_lock(${LOCK.forgetting}, 0) as held` };

/**
 * Deletes by `ctid`: with keys the planner would join, and read the whole table for each batch. A concurrent logout may
 * postpone `forget_at` of a selected row, which must then stay. So the outer condition repeats the comparison: Postgres
 * before 17.7 does not check the `ctid` of a changed row again.
 */
const deletions = [
  ...['spent_assertions', 'revoked_tokens', 'accepted_signals', 'logouts', 'pending_unblocks'].map((table) => [
    table,
    'forget_at',
  ]),
  ['sessions', 'expires_at'],
].map(([table, until]) => ({
  name: `forget_${table}`,
  text: `delete from ${table} where ctid = any (array(
    select ctid from ${table} where ${until} <= $1 order by ${until} limit $2)) and ${until} <= $1`,
}));

/** Skips rows that another transaction has locked, such as an exchange its parent task. The next pass frees them. */
const freeIndices = {
  name: 'release_status_indices',
  text: `with over as materialized (
      select task_id, status_list from tasks where status_list is not null and state <> 'live' and expires_at <= $1
        order by expires_at limit $2 for update skip locked
    ), opened as (
      update status_lists set closed_at = null
        where closed_at is not null and list_id = any (array(select status_list from over))
    )
    update tasks set status_list = null, status_index = null where task_id = any (array(select task_id from over))`,
};
const UNUSED = `not exists (
    select from tasks t where t.status_list = status_lists.list_id and t.status_index is not null offset 0)`;
const closeUnused = {
  name: 'close_unused_status_lists',
  text: `update status_lists set closed_at = $1 where created_at <= $2 and closed_at is null and ${UNUSED}`,
};
const deleteUnused = {
  name: 'delete_unused_status_lists',
  text: `delete from status_lists where created_at <= $1 and closed_at <= $2 and ${UNUSED}`,
};

const eraseReasons = {
  name: 'erase_reasons',
  text: `update operator_acts set reason = null, salt = null where seq = any (array(
    select seq from operator_acts where at <= $1 and reason is not null order by at limit $2))`,
};

export function postgresSweeping({ transact }: Connections): Sweeping {
  return {
    eraseReasons: (until, limit) =>
      transact(async (run) => (await run(eraseReasons, [bindInstant(until), limit])).count),
    // A serving role may not lock rows of all these tables, so an advisory lock lets one instance delete at a time.
    forget: (until, limit) =>
      transact(async (run) => {
        const { rows } = await run<{ held: boolean }>(tryLock);
        if (rows[0]?.held !== true) return 0;
        let forgotten = 0;
        for (const deletion of [...deletions, freeIndices]) {
          forgotten += (await run(deletion, [bindInstant(until), limit])).count;
        }
        const { createdBy, closedBy } = unusedLists(until);
        forgotten += (await run(deleteUnused, [bindInstant(createdBy), bindInstant(closedBy)])).count;
        forgotten += (await run(closeUnused, [bindInstant(until), bindInstant(createdBy)])).count;
        return forgotten;
      }),
  };
}
