/** Sentences for the operator about an unusable database. */

import type { DatabaseRefusal, RefusalReason } from '../adapters/storage/database-refusal.ts';
import type { ConnectionFault } from '../adapters/storage/postgres/connection-faults.ts';
import type { DriverFault } from '../adapters/storage/sqlite/driver-fault.ts';
import type { LedgerFileProblem } from '../adapters/storage/sqlite/open-ledger.ts';
import { type DatabaseFault, describeFault as describeStorageFault } from '../application/ports/decisions.ts';
import type { DatabaseChoice } from './settings/alternatives.ts';
import { StartupError, variableOf } from './settings/startup-error.ts';

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
  role_may_create: 'names a role that may create functions in the schema, which other roles could then run',
  no_schema: 'names a role whose search_path begins with no schema that exists',
  unusable_schema_name:
    'names a role whose search_path begins with a schema whose name holds a quote, $, %, ? or a backslash',
  server_too_old: 'names a server that is older than Postgres 15',
  encoding_not_utf8: 'names a database whose encoding is not UTF8: create it again with UTF8',
  shared_sessions:
    'names a pooler that gives one session to several clients (transaction mode): name the server itself, or let the pooler keep a session for one client (session mode)',
  no_primary: 'names several hosts, and none of those that answer is the primary',
  several_primaries:
    'names two hosts that both are a primary: stop the one that was replaced, and see that no client reaches it',
};

export function describeDatabaseRefusal({ reason, role, statement }: DatabaseRefusal): string {
  const remedy = statement === undefined ? '' : `: as the owner of the schema, or as a superuser, run ${statement}`;
  return `${CONNECTIONS[role]} ${PROBLEMS[reason]}${remedy}.`;
}

const named = (key: string) => `${key} (${variableOf(key)})`;
const ADDRESSES = { serving: named(SERVING), migrating: `${named(SERVING)} or ${named(MIGRATING)}` } as const;

/**
 * One sentence about a database that does not answer: where it is, the setting that says so, and what to do.
 *
 * @param opened the connections that the command opens: `migrating` opens both, and the address tells them apart
 */
export function describeAway(fault: DatabaseFault, address: string | undefined, opened: OpenedConnections): string {
  const what = describeStorageFault(fault);
  const act = fault.act.replace(SERVING, ADDRESSES[opened]);
  const where = address === undefined ? '' : ` at ${address}`;
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}${where}: ${act.charAt(0).toLowerCase()}${act.slice(1)}`;
}

export type OpenedConnections = keyof typeof ADDRESSES;

/** Whole sentences about the database driver: the database file is not the cause. */
export const DRIVER_FAULTS: Readonly<Record<DriverFault, string>> = {
  driver_not_installed: 'better-sqlite3, which SQLite needs, is not installed: npm install better-sqlite3@12.',
  driver_of_another_node: 'better-sqlite3 was built for another Node: npm rebuild better-sqlite3.',
  driver_not_loaded: 'better-sqlite3 cannot be loaded on this machine: npm rebuild better-sqlite3.',
};

/** A schema that `mandate migrate` can update. */
export function describeOldSchema(status: 'absent' | 'behind'): string {
  return status === 'absent'
    ? 'The database schema is not there: run mandate migrate. If it has run on this Postgres, its role has another search_path than this one.'
    : 'The database schema is not current: run mandate migrate.';
}

const NAMED = 'Service:Database:Path (Service__Database__Path) names';

/** The start refuses such a file, and the doctor fails. */
export const DAMAGED_FILE =
  'a file that is damaged. The likely cause is the -wal of another file, left beside a restored one: remove the -wal and -shm beside it and restore the backup again. See docs/operating.md ("The SQLite file is damaged")';

/** Whole sentences about the database file. */
export const FILE_PROBLEMS: Readonly<Record<LedgerFileProblem, string>> = {
  missing: `${NAMED} no file.`,
  not_permitted: `${NAMED} a file that this user may not read.`,
  not_a_database: `${NAMED} a file that is no SQLite database.`,
  damaged: `${NAMED} ${DAMAGED_FILE}.`,
  folder_not_writable: `${NAMED} a file that cannot be read where it is, since SQLite has to put its index beside it: copy it, and the -wal beside it if there is one, to a directory that this user may write to.`,
  ...DRIVER_FAULTS,
  failed: `${NAMED} a file that cannot be opened as a database.`,
};

export const NO_LEDGER = `${NAMED} a file that holds no ledger: it is empty, or the database of something else.`;

type PostgresChoice = Extract<DatabaseChoice, { readonly provider: 'postgres' }>;

/** The connection: that of the serving role, or of the role that owns the schema. */
type ConnectionOf = 'serving' | 'owner';

type OtherFault = Exclude<ConnectionFault, { readonly parameter: string }>;

const FAULTS: Readonly<Record<OtherFault['problem'], string>> = {
  unreadable_file: 'names a file (sslrootcert, sslcert or sslkey) that cannot be read by this user',
  unusable: 'is not one that the driver can use (is its password percent-encoded, and do its parameters fit together?)',
  named_twice: 'names its hosts or ports both before the path and in the parameter host or port: name them once',
  empty_host: 'has an empty name in its list of hosts',
  count_of_ports: 'must list one port for all hosts, or one for each host',
  wrong_port: 'has a parameter port that is not a number from 1 to 65535',
  wrong_target_session_attrs:
    'has a target_session_attrs that Mandate cannot use: it works on the primary only, so write read-write or primary',
  wrong_sslmode: 'has an sslmode other than disable, no-verify, prefer, require, verify-ca and verify-full',
  missing_target_session_attrs:
    'names several hosts without target_session_attrs=read-write (or primary): Mandate would read from a standby',
};

function describeFault(fault: ConnectionFault): string {
  switch (fault.problem) {
    case 'unknown_parameter':
      return `has the parameter ${fault.parameter}, which has no effect here: remove it`;
    case 'doubled_parameter':
      return `has the parameter ${fault.parameter} more than once`;
    default:
      return FAULTS[fault.problem];
  }
}

/**
 * A sentence about each fault of a connection string with which no connection can succeed. Such an error must not be
 * mistaken for an unreachable database. Empty if the driver can use it.
 */
export async function unusableConnection(chosen: PostgresChoice, of: ConnectionOf): Promise<readonly string[]> {
  const { connectionFaults } = await import('../adapters/storage/postgres/connection-faults.ts');
  const { connectionString, migrationConnectionString } = chosen;
  const meant = of === 'serving' ? connectionString : migrationConnectionString;
  // Without `MigrationConnectionString`, the owner connects with the serving role's connection string.
  const key = `Service:Database:${meant === connectionString ? 'ConnectionString' : 'MigrationConnectionString'}`;
  return connectionFaults(meant.reveal()).map((fault) => `${key} (${variableOf(key)}) ${describeFault(fault)}.`);
}

/** @throws StartupError */
export async function refuseUnusableConnection(chosen: PostgresChoice, of: ConnectionOf): Promise<void> {
  const sentences = await unusableConnection(chosen, of);
  if (sentences.length > 0) throw new StartupError(sentences);
}
