/** How Postgres frees indices of status lists, and lets one instance sweep at a time (`../queries/sweeping.ts`). */

import { dueValues, type FreeingIndices } from '../queries/sweeping.ts';
import { LOCK } from './locks.ts';

export const postgresFreeing: FreeingIndices = {
  // A serving role may not lock rows of all these tables, so an advisory lock lets one instance delete at a time.
  lock: {
    name: 'try_forgetting',
    text: `select 1 from (select pg_try_advisory_xact_lock(${LOCK.forgetting}, 0) as held offset 0) lock where held`,
  },
  // Skips rows that another transaction has locked, such as an exchange its parent task. The next pass frees them.
  free: {
    name: 'release_status_indices',
    text: `with over as materialized (
        select task_id, status_list from tasks where status_list is not null and state <> 'live' and expires_at <= :until
          order by expires_at limit :limit for update skip locked
      ), opened as (
        update status_lists set closed_at = null
          where closed_at is not null and list_id = any (array(select status_list from over))
      )
      update tasks set status_list = null, status_index = null where task_id = any (array(select task_id from over))`,
    values: dueValues,
  },
};
