/** The database that the settings choose; the adapter of the other one is not even loaded. */

import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Storage, StorageSurroundings } from '../adapters/persistence/storage.ts';
import { chosenDatabase } from './settings/alternatives.ts';
import type { SettingsSection } from './settings/settings.ts';
import { StartupError } from './startup-error.ts';

/** @throws StartupError when a SQLite file cannot be opened; a Postgres server may come up later than we do */
export async function openStorage(
  settings: SettingsSection<'Service:Database'> & Partial<SettingsSection<'Service:Audit'>>,
  surroundings: StorageSurroundings,
): Promise<Storage> {
  const chosen = chosenDatabase(settings);
  if (chosen.provider === 'postgres') {
    const { openPostgres } = await import('../adapters/persistence/postgres/open.ts');
    return openPostgres(
      {
        connectionString: chosen.connectionString.reveal(),
        migrationConnectionString: chosen.migrationConnectionString.reveal(),
        monthsAhead: settings['Service:Audit:Partitions:MonthsAhead'],
      },
      surroundings,
    );
  }
  const { openSqlite } = await import('../adapters/persistence/sqlite/open.ts');
  try {
    return await openSqlite({ path: chosen.path }, surroundings);
  } catch (error) {
    surroundings.log.error('the database file could not be opened', error);
    throw new StartupError([`Service:Database:Path (Service__Database__Path) names ${await unopened(chosen.path)}.`]);
  }
}

/** What kind of file it is that was not opened, as far as the file system knows. */
async function unopened(path: string): Promise<string> {
  const may = (what: string, mode: number) =>
    access(what, mode).then(
      () => true,
      () => false,
    );
  const directory = dirname(path);
  if (!(await may(directory, constants.F_OK))) return 'a file in a directory that is not there';
  const isThere = await may(path, constants.F_OK);
  // SQLite keeps its log beside the file.
  const mayWrite = (await may(directory, constants.W_OK)) && (!isThere || (await may(path, constants.W_OK)));
  return mayWrite
    ? 'a file that cannot be opened as a database'
    : 'a file that this user may not write to, or whose directory this user may not write to';
}
