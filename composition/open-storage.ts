/** Opens the configured database. The adapter of the other database is not loaded. */

import { existsSync } from 'node:fs';
import type { UnopenedFile } from '../adapters/storage/sqlite/unopened-file.ts';
import type { Storage, StorageSurroundings } from '../adapters/storage/storage.ts';
import { DAMAGED_FILE, DRIVER_FAULTS, refuseUnusableConnection } from './database-refusals.ts';
import { databaseChoice } from './settings/alternatives.ts';
import type { SettingsSection } from './settings/settings.ts';
import { StartupError } from './settings/startup-error.ts';

const UNOPENED: Readonly<Record<UnopenedFile, string>> = {
  no_directory: 'a file in a directory that does not exist',
  not_writable: 'a file that this user may not write to, or whose directory this user may not write to',
  damaged: DAMAGED_FILE,
  no_database: 'a file that cannot be opened as a database',
};

/** Opening a missing SQLite file would create an empty one, even for a mistyped path. @throws StartupError */
export function refuseMissingFile(settings: SettingsSection<'Service:Database'>): void {
  const path = settings['Service:Database:Path'];
  if (path !== undefined && !existsSync(path)) {
    throw new StartupError(['Service:Database:Path (Service__Database__Path) names no file: run mandate migrate.']);
  }
}

/**
 * @param isServed whether a service opens it
 * @throws StartupError if a SQLite file or a certificate file cannot be read. An unreachable Postgres server is no error
 */
export async function openStorage(
  settings: SettingsSection<'Service:Database'> & Partial<SettingsSection<'Service:Audit'>>,
  surroundings: StorageSurroundings,
  isServed = false,
): Promise<Storage> {
  const chosen = databaseChoice(settings);
  if (chosen.provider === 'postgres') {
    const { openPostgres } = await import('../adapters/storage/postgres/open.ts');
    await refuseUnusableConnection(chosen, 'serving');
    return openPostgres(
      {
        connectionString: chosen.connectionString.reveal(),
        migrationConnectionString: chosen.migrationConnectionString.reveal(),
        monthsAhead: settings['Service:Audit:Partitions:MonthsAhead'],
      },
      surroundings,
    );
  }
  const { openSqlite } = await import('../adapters/storage/sqlite/open.ts');
  try {
    return await openSqlite({ path: chosen.path, isServed }, surroundings);
  } catch (error) {
    const { driverFault } = await import('../adapters/storage/sqlite/driver-fault.ts');
    const fault = driverFault(error);
    // The file is not the problem then, and the sentence says everything.
    if (fault !== 'driver_not_installed') surroundings.log.error('the database file could not be opened', error);
    if (fault !== undefined) throw new StartupError([DRIVER_FAULTS[fault]]);
    const { unopenedFile } = await import('../adapters/storage/sqlite/unopened-file.ts');
    const problem = UNOPENED[await unopenedFile(chosen.path, error)];
    throw new StartupError([`Service:Database:Path (Service__Database__Path) names ${problem}.`]);
  }
}
