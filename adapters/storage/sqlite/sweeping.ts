/** Deletes rows that are no longer needed, a limited number at a time (application/ports/storage.ts, Sweeping). */

import type { Sweeping } from '../../../application/ports/storage.ts';
import { unusedLists } from '../rows/status-list-row.ts';
import type { Connection } from './connection.ts';

const deletions = [
  deleteFrom('spent_assertions', 'agent_id, jti'),
  deleteFrom('revoked_tokens', 'jti'),
  deleteFrom('accepted_signals', 'receiver, issuer, jti'),
  deleteFrom('logouts', 'kind, name'),
  deleteFrom('sessions', 'session_hash', 'expires_at'),
  deleteFrom('pending_unblocks', 'sponsor_key'),
];

function deleteFrom(table: string, key: string, until = 'forget_at'): string {
  return `delete from ${table} where (${key}) in (
    select ${key} from ${table} where ${until} <= ? order by ${until} limit ?)`;
}

const OVER = `from tasks where status_list is not null and state <> 'live' and expires_at <= ? order by expires_at limit ?`;
/** The lists first: afterwards the tasks no longer name them. */
const openLists = `update status_lists set closed_at = null
  where closed_at is not null and list_id in (select status_list ${OVER})`;
const freeIndices = `update tasks set status_list = null, status_index = null where task_id in (select task_id ${OVER})`;
const UNUSED = `not exists (
    select 1 from tasks t where t.status_list = status_lists.list_id and t.status_index is not null)`;
const closeUnused = `update status_lists set closed_at = ? where created_at <= ? and closed_at is null and ${UNUSED}`;
const deleteUnused = `delete from status_lists where created_at <= ? and closed_at <= ? and ${UNUSED}`;

const eraseReasons = `update operator_acts set reason = null, salt = null where seq in (
  select seq from operator_acts where at <= ? and reason is not null order by at limit ?)`;

export function sqliteSweeping({ write }: Connection): Sweeping {
  return {
    eraseReasons: (until, limit) => write((run) => run(eraseReasons, [until, limit]).count),
    forget: (until, limit) =>
      write((run) => {
        run(openLists, [until, limit]);
        const { createdBy, closedBy } = unusedLists(until);
        return [
          ...[...deletions, freeIndices].map((deletion) => run(deletion, [until, limit])),
          run(deleteUnused, [createdBy, closedBy]),
          run(closeUnused, [until, createdBy]),
        ].reduce((sum, { count }) => sum + count, 0);
      }),
  };
}
