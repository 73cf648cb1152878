/** Rows of `status_lists`, and what both engines read about them. */

import type { StatusListUsage, StoredStatusList } from '../../../application/ports/queries.ts';
import { type Instant, plusSeconds } from '../../../domain/instant.ts';

/** Lists of indices as JSON: a row for each of 100,000 would cost far more. */
export interface StatusListRow {
  readonly entries: number;
  readonly ended: string;
  readonly suspended: string;
  readonly with_revoked_token: string;
}

export function toStatusList(row: StatusListRow): StoredStatusList {
  return {
    entries: row.entries,
    ended: JSON.parse(row.ended),
    suspended: JSON.parse(row.suspended),
    withRevokedToken: JSON.parse(row.with_revoked_token),
  };
}

/**
 * The columns of StatusListRow, for a `select` with the alias `l` (list). One statement, so that a task whose status
 * changes meanwhile is not lost between two reads. Each part begins with the few tasks that it is about.
 *
 * @param array the engine's function that collects values as JSON; without values it returns null
 */
export function statusListColumns(array: string): string {
  const indices = (name: string, from: string) =>
    `coalesce((select ${array}(t.status_index) from ${from}), '[]') as ${name}`;
  return [
    'l.entries',
    indices('ended', "tasks t where t.status_list = l.list_id and t.state <> 'live'"),
    indices(
      'suspended',
      `agents a cross join tasks t
        where not a.enabled and t.agent_id = a.agent_id and t.state = 'live' and t.status_list = l.list_id`,
    ),
    indices(
      'with_revoked_token',
      // A look-up for each revoked token of the list. For a join Postgres would read all tasks of the list.
      `(select (
          select o.status_index from tasks o where o.task_id = r.task_id and o.state = 'live' and o.status_list = l.list_id
        ) as status_index from revoked_tokens r where r.status_list = l.list_id
      ) t where t.status_index is not null`,
    ),
  ].join(', ');
}

export interface StatusListUsageRow {
  readonly list_id: string;
  readonly audience: string;
  readonly entries: number;
  readonly held: number;
  readonly created_at: Instant;
}

/** Reads one index: `tasks_status_index`. */
export const selectStatusListUsage = `
  select l.list_id, l.audience, l.entries, l.created_at,
      (select count(*) from tasks t where t.status_list = l.list_id and t.status_index is not null) as held
    from status_lists l order by l.created_at, l.list_id`;

export function toStatusListUsage(row: StatusListUsageRow): StatusListUsage {
  const { list_id: listId, audience, entries, held, created_at: createdAt } = row;
  return { listId, audience, entries, held, createdAt };
}

/** A list that gets no further task for so long is unused, or its audience is. */
const UNUSED_AFTER_SECONDS = 86_400;

/** Longer than any transaction that may still give a task an index of a list which is closed meanwhile. */
const CLOSED_FOR_SECONDS = 3600;

/** By when a list without tasks was created, so that it is closed; and by when it was closed, so that it is deleted. */
export function unusedLists(until: Instant): { readonly createdBy: Instant; readonly closedBy: Instant } {
  return { createdBy: plusSeconds(until, -UNUSED_AFTER_SECONDS), closedBy: plusSeconds(until, -CLOSED_FOR_SECONDS) };
}
