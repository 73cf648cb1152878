/** Sentences for the operator about an unusable database. */

import type { DatabaseRefusal, RefusalReason } from '../adapters/storage/database-refusal.ts';
import type { AddonFault } from '../adapters/storage/sqlite/errors.ts';
import type { LedgerFileProblem } from '../adapters/storage/sqlite/open-ledger.ts';
import { variableOf } from './settings/setting-error.ts';

const SERVING = 'Service:Database:ConnectionString';
const MIGRATING = 'Service:Database:MigrationConnectionString';

const CONNECTIONS: Readonly<Record<DatabaseRefusal['role'], string>> = {
  serving: `${SERVING} (${variableOf(SERVING)})`,
  migrating: `${MIGRATING} (${variableOf(MIGRATING)}), or ${SERVING} where that is unset,`,
};

const PROBLEMS: Readonly<Record<RefusalReason, string>> = {
  no_such_database: 'names a database that does not exist',
  role_not_let_in: 'names a role that the server refuses, or the password is wrong',
  role_without_rights: 'names a role without the required rights',
  server_too_old: 'names a server that is older than Postgres 15',
  encoding_not_utf8: 'names a database whose encoding is not UTF8: create it again with UTF8',
};

export function describeDatabaseRefusal({ reason, role }: DatabaseRefusal): string {
  return `${CONNECTIONS[role]} ${PROBLEMS[reason]}.`;
}

/** Sentences that end with a full stop: the file is not at fault. */
export const ADDON_FAULTS: Readonly<Record<AddonFault, string>> = {
  addon_of_another_node: 'better-sqlite3 was built for another Node: npm rebuild better-sqlite3.',
  addon_not_loaded: 'better-sqlite3 cannot be loaded on this machine: npm rebuild better-sqlite3.',
};

const NAMED = 'Service:Database:Path (Service__Database__Path) names';

/** Sentences that end with a full stop. */
export const FILE_PROBLEMS: Readonly<Record<LedgerFileProblem, string>> = {
  missing: `${NAMED} no file.`,
  not_permitted: `${NAMED} a file that this user may not read.`,
  not_a_database: `${NAMED} a file that is no SQLite database.`,
  folder_not_writable: `${NAMED} a file that cannot be read where it is, since SQLite has to put its index beside it: copy it, and the -wal beside it if there is one, to a directory that this user may write to.`,
  ...ADDON_FAULTS,
  failed: `${NAMED} a file that cannot be opened as a database.`,
};

export const NO_LEDGER = `${NAMED} a file that holds no ledger: it is empty, or the database of something else.`;
