/** How SQLite frees indices of status lists (`../queries/sweeping.ts`). */

import { dueValues, type FreeingIndices } from '../queries/sweeping.ts';

const OVER = `from tasks where status_list is not null and state <> 'live' and expires_at <= :until
      order by expires_at limit :limit`;

export const sqliteFreeing: FreeingIndices = {
  // Before the tasks no longer name them.
  open: {
    text: `update status_lists set closed_at = null
      where closed_at is not null and list_id in (select status_list ${OVER})`,
    values: dueValues,
  },
  free: {
    text: `update tasks set status_list = null, status_index = null where task_id in (select task_id ${OVER})`,
    values: dueValues,
  },
};
