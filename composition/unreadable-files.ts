/** Files of certificates and keys that connection strings name (libpq's `sslrootcert`, `sslcert`, `sslkey`). */

import type { DatabaseChoice } from './settings/alternatives.ts';
import { variableOf } from './settings/setting-error.ts';
import { StartupError } from './startup-error.ts';

type PostgresChoice = Extract<DatabaseChoice, { readonly provider: 'postgres' }>;

/** A sentence for each setting that names one which cannot be read: no connection would ever come about. */
export async function unreadableFiles(chosen: PostgresChoice): Promise<readonly string[]> {
  const { hasReadableFiles } = await import('../adapters/persistence/postgres/connection-string.ts');
  const isOne = chosen.migrationConnectionString === chosen.connectionString;
  const given = {
    'Service:Database:ConnectionString': chosen.connectionString,
    ...(isOne ? {} : { 'Service:Database:MigrationConnectionString': chosen.migrationConnectionString }),
  };
  return Object.entries(given)
    .filter(([, connectionString]) => !hasReadableFiles(connectionString.reveal()))
    .map(
      ([key]) =>
        `${key} (${variableOf(key)}) names a file (sslrootcert, sslcert or sslkey) that cannot be read by this user.`,
    );
}

/** @throws StartupError */
export async function refuseUnreadableFiles(chosen: PostgresChoice): Promise<void> {
  const unreadable = await unreadableFiles(chosen);
  if (unreadable.length > 0) throw new StartupError(unreadable);
}
