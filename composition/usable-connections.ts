/**
 * Detects connection strings with which no connection can succeed, so that the error is not taken for an unreachable
 * database.
 */

import type { ConnectionStringFault } from '../adapters/storage/postgres/connections.ts';
import type { DatabaseChoice } from './settings/alternatives.ts';
import { variableOf } from './settings/setting-error.ts';
import { StartupError } from './startup-error.ts';

type PostgresChoice = Extract<DatabaseChoice, { readonly provider: 'postgres' }>;

/** The connection: that of the serving role, or of the role that owns the schema. */
export type ConnectionOf = 'serving' | 'owner';

const FAULTS: Readonly<Record<ConnectionStringFault, string>> = {
  unreadable_file: 'names a file (sslrootcert, sslcert or sslkey) that cannot be read by this user',
  unusable: 'is not one that the driver can use (is its password percent-encoded, and do its parameters fit together?)',
};

/** A sentence for the operator; `undefined` if the driver can use the connection string. */
export async function unusableConnection(chosen: PostgresChoice, of: ConnectionOf): Promise<string | undefined> {
  const { connectionStringFault } = await import('../adapters/storage/postgres/connections.ts');
  const { connectionString, migrationConnectionString } = chosen;
  const meant = of === 'serving' ? connectionString : migrationConnectionString;
  // Without a setting for the owner, its connection is the serving role's.
  const key = `Service:Database:${meant === connectionString ? 'ConnectionString' : 'MigrationConnectionString'}`;
  const fault = connectionStringFault(meant.reveal());
  return fault && `${key} (${variableOf(key)}) ${FAULTS[fault]}.`;
}

/** @throws StartupError */
export async function refuseUnusableConnection(chosen: PostgresChoice, of: ConnectionOf): Promise<void> {
  const sentence = await unusableConnection(chosen, of);
  if (sentence !== undefined) throw new StartupError([sentence]);
}
