/** Queries of the status lists. */

import type { StatusLists, StatusListUsage, StoredStatusList } from '../../../application/ports/status-lists.ts';
import type { ReadRow } from '../rows/column.ts';
import type { tables } from '../tables.ts';
import type { Ask, Query } from './query.ts';

/** Lists of indices as JSON: a row for each of 100,000 would cost far more. */
interface StatusListRow {
  readonly entries: number;
  readonly ended: string;
  readonly suspended: string;
  readonly with_revoked_token: string;
}

/**
 * One statement, so that a task whose status changes meanwhile is not lost between two reads. Each part begins with the few
 * tasks that it is about. The tasks of disabled agents lead to the live tasks below them, whose own agents may be enabled. A task
 * is at the tool server of its parent, so the trees at other tool servers are left out. `union` ends the way down at a row that
 * was altered to be its own parent.
 */
export const findStatusList: Query<string, StoredStatusList | undefined> = {
  name: 'find_status_list',
  plan: 'by_index',
  // A look-up for each revoked token of the list: for a join Postgres would read all tasks of the list.
  text: ({ jsonAgg, lookUp }) => `with recursive below (task_id, status_list, status_index) as (
      select t.task_id, t.status_list, t.status_index
        from status_lists l cross join agents a
          ${lookUp('tasks', 'p', "p.agent_id = a.agent_id and p.state = 'live' and p.audience = l.audience")}
          ${lookUp('tasks', 't', "t.parent_task_id = p.task_id and t.state = 'live'")}
        where l.list_id = :list_id and not a.enabled and exists (select 1 from tasks where parent_task_id is not null)
      union
      select t.task_id, t.status_list, t.status_index
        from below b ${lookUp('tasks', 't', "t.parent_task_id = b.task_id and t.state = 'live'")}
    )
    select l.entries,
      coalesce((
        select ${jsonAgg}(t.status_index) from tasks t where t.status_list = l.list_id and t.state <> 'live'
      ), '[]') as ended,
      coalesce((
        select ${jsonAgg}(s.status_index) from (
          select t.status_index
            from agents a ${lookUp('tasks', 't', "t.agent_id = a.agent_id and t.state = 'live' and t.status_list = l.list_id")}
            where not a.enabled
          union all
          select b.status_index from below b where b.status_list = l.list_id
        ) s
      ), '[]') as suspended,
      coalesce((
        select ${jsonAgg}(t.status_index) from (
          select (
              select o.status_index from tasks o
                where o.task_id = r.task_id and o.state = 'live' and o.status_list = l.list_id
            ) as status_index
            from revoked_tokens r where r.status_list = l.list_id
        ) t where t.status_index is not null
      ), '[]') as with_revoked_token
    from status_lists l where l.list_id = :list_id`,
  values: (listId) => ({ list_id: listId }),
  read: ([row]: readonly StatusListRow[]) =>
    row && {
      entries: row.entries,
      ended: JSON.parse(row.ended),
      suspended: JSON.parse(row.suspended),
      withRevokedToken: JSON.parse(row.with_revoked_token),
    },
};

export const listStatusLists: Query<undefined, readonly string[]> = {
  name: 'list_status_lists',
  text: 'select list_id from status_lists order by created_at, list_id',
  read: (rows: readonly { readonly list_id: string }[]) => rows.map((row) => row.list_id),
};

interface StatusListUsageRow extends Omit<ReadRow<typeof tables.status_lists>, 'closed_at'> {
  readonly held: number;
}

/** Reads one index: `tasks_status_index`. */
export const statusListUsage: Query<undefined, readonly StatusListUsage[]> = {
  name: 'status_list_usage',
  plan: 'by_index',
  text: `select l.list_id, l.audience, l.entries, l.created_at,
      (select count(*) from tasks t where t.status_list = l.list_id and t.status_index is not null) as held
    from status_lists l order by l.created_at, l.list_id`,
  read: (rows: readonly StatusListUsageRow[]) =>
    rows.map((row) => ({
      listId: row.list_id,
      audience: row.audience,
      entries: row.entries,
      held: row.held,
      createdAt: row.created_at,
    })),
};

export function statusLists(ask: Ask): StatusLists {
  return {
    find: (listId) => ask(findStatusList, listId),
    list: () => ask(listStatusLists, undefined),
    usage: () => ask(statusListUsage, undefined),
  };
}
