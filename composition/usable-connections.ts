/** Connection strings with which no connection would ever come about, which must not pass for a database that is away. */

import type { ConnectionStringFault } from '../adapters/storage/postgres/connection-string.ts';
import type { DatabaseChoice } from './settings/alternatives.ts';
import { variableOf } from './settings/setting-error.ts';
import { StartupError } from './startup-error.ts';

type PostgresChoice = Extract<DatabaseChoice, { readonly provider: 'postgres' }>;

/** Whose connection is meant: that of the role that serves, or of the one that owns the schema. */
export type ConnectionOf = 'serving' | 'owner';

const FAULTS: Readonly<Record<ConnectionStringFault, string>> = {
  unreadable_file: 'names a file (sslrootcert, sslcert or sslkey) that cannot be read by this user',
  unusable: 'is not one that the driver can use (is its password percent-encoded, and do its parameters fit together?)',
};

/** A sentence for the operator; `undefined` where the driver could connect. */
export async function unusableConnection(chosen: PostgresChoice, of: ConnectionOf): Promise<string | undefined> {
  const { connectionStringFault } = await import('../adapters/storage/postgres/connection-string.ts');
  const { connectionString, migrationConnectionString } = chosen;
  const meant = of === 'serving' ? connectionString : migrationConnectionString;
  // Where the owner's is not set, it is the other.
  const key = `Service:Database:${meant === connectionString ? 'ConnectionString' : 'MigrationConnectionString'}`;
  const fault = connectionStringFault(meant.reveal());
  return fault && `${key} (${variableOf(key)}) ${FAULTS[fault]}.`;
}

/** @throws StartupError */
export async function refuseUnusableConnection(chosen: PostgresChoice, of: ConnectionOf): Promise<void> {
  const sentence = await unusableConnection(chosen, of);
  if (sentence !== undefined) throw new StartupError([sentence]);
}
