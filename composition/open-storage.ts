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

const UNOPENED_FILE = 'the database file could not be opened';

/** Opening a missing SQLite file would create an empty one, even for a mistyped path. @throws StartupError */
export function refuseMissingFile(settings: SettingsSection<'Service:Database'>): void {
  const path = settings['Service:Database:Path'];
  if (path !== undefined && !existsSync(path)) {
    throw new StartupError(['Service:Database:Path (Service__Database__Path) names no file: run mandate migrate.']);
  }
}

type StorageSettings = SettingsSection<'Service:Database'> & Partial<SettingsSection<'Service:Audit'>>;

/**
 * @param isServed whether a service opens it
 * @throws StartupError if a SQLite file or a certificate file cannot be read. An unreachable Postgres server is no error
 */
export type OpenStorage = (surroundings: StorageSurroundings, isServed?: boolean) => Promise<Storage>;

/** Loads the code of the configured database, and opens nothing. */
export async function loadStorage(settings: StorageSettings): Promise<OpenStorage> {
  const chosen = databaseChoice(settings);
  if (chosen.provider === 'postgres') {
    const { openPostgres } = await import('../adapters/storage/postgres/open.ts');
    return async (surroundings) => {
      await refuseUnusableConnection(chosen, 'serving');
      return openPostgres(
        {
          connectionString: chosen.connectionString.reveal(),
          migrationConnectionString: chosen.migrationConnectionString.reveal(),
          loadMigrating: () => import('../adapters/storage/postgres/apply-migrations.ts'),
          monthsAhead: settings['Service:Audit:Partitions:MonthsAhead'],
        },
        surroundings,
      );
    };
  }
  const { openSqlite } = await import('../adapters/storage/sqlite/open.ts');
  return async (surroundings, isServed = false) => {
    try {
      return await openSqlite({ path: chosen.path, isServed }, surroundings);
    } catch (error) {
      throw await unopenedStorage(chosen.path, error, surroundings);
    }
  };
}

/** Opens the configured database for a command. @throws StartupError as {@link OpenStorage} */
export async function openStorage(settings: StorageSettings, surroundings: StorageSurroundings): Promise<Storage> {
  const open = await loadStorage(settings);
  return open(surroundings);
}

/** @returns one sentence. It says everything unless the cause is unknown: then the log has the error, with its stack */
async function unopenedStorage(path: string, error: unknown, { log }: StorageSurroundings): Promise<StartupError> {
  const { driverFault } = await import('../adapters/storage/sqlite/driver-fault.ts');
  const fault = driverFault(error);
  if (fault !== undefined) {
    if (fault === 'driver_not_loaded') log.error(UNOPENED_FILE, error);
    return new StartupError([DRIVER_FAULTS[fault]]);
  }
  const { unopenedFile } = await import('../adapters/storage/sqlite/unopened-file.ts');
  const problem = await unopenedFile(path, error);
  if (problem === 'no_database') log.error(UNOPENED_FILE, error);
  return new StartupError([`Service:Database:Path (Service__Database__Path) names ${UNOPENED[problem]}.`]);
}
