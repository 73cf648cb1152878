/** Why a database server turned a command away, or will not do, by the setting that led there. */

import type { DatabaseRefusal, RefusalReason } from '../adapters/persistence/database-refusal.ts';
import { variableOf } from './settings/setting-error.ts';

const SERVING = 'Service:Database:ConnectionString';
const MIGRATING = 'Service:Database:MigrationConnectionString';

const CONNECTIONS: Readonly<Record<DatabaseRefusal['role'], string>> = {
  serving: `${SERVING} (${variableOf(SERVING)})`,
  migrating: `${MIGRATING} (${variableOf(MIGRATING)}), or ${SERVING} where that is unset,`,
};

const PROBLEMS: Readonly<Record<RefusalReason, string>> = {
  no_such_database: 'names a database that does not exist',
  role_not_let_in: 'names a role that the server does not let in, or not with this password',
  role_without_rights: 'names a role without the rights that this takes',
  server_too_old: 'names a server that is older than Postgres 15',
  encoding_not_utf8: 'names a database whose encoding is not UTF8: make it anew with that',
};

export function describeDatabaseRefusal({ reason, role }: DatabaseRefusal): string {
  return `${CONNECTIONS[role]} ${PROBLEMS[reason]}.`;
}
