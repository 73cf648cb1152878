/** Deletes rows whose time is over, on SQLite. */

import type { Sweeping } from '../../../application/ports/storage.ts';
import type { Connection } from './connection.ts';

const deletions = [
  deleteFrom('spent_assertions', 'agent_id, jti'),
  deleteFrom('revoked_tokens', 'jti'),
  deleteFrom('accepted_signals', 'receiver, issuer, jti'),
  deleteFrom('logouts', 'kind, name'),
];

function deleteFrom(table: string, key: string): string {
  return `delete from ${table} where (${key}) in (
    select ${key} from ${table} where forget_at <= ? order by forget_at limit ?)`;
}

export function sqliteSweeping({ write }: Connection): Sweeping {
  return {
    forget: (until, limit) =>
      write((run) => deletions.reduce((count, deletion) => count + run(deletion, [until, limit]).count, 0)),
  };
}
