/** The database that the settings choose. */

import { openPostgres } from '../adapters/persistence/postgres/open.ts';
import { openSqlite } from '../adapters/persistence/sqlite/open.ts';
import type { Storage, StorageSurroundings } from '../adapters/persistence/storage.ts';
import { chosenDatabase } from './settings/alternatives.ts';
import type { SettingsSection } from './settings/settings.ts';
import { StartupError } from './startup-error.ts';

/** @throws StartupError when a SQLite file cannot be opened; a Postgres server may come up later than we do */
export async function openStorage(
  settings: SettingsSection<'Service:Database'> & SettingsSection<'Service:Audit'>,
  surroundings: StorageSurroundings,
): Promise<Storage> {
  const chosen = chosenDatabase(settings);
  if (chosen.provider === 'postgres') {
    return openPostgres(
      {
        connectionString: chosen.connectionString.reveal(),
        migrationConnectionString: chosen.migrationConnectionString.reveal(),
        monthsAhead: settings['Service:Audit:Partitions:MonthsAhead'],
      },
      surroundings,
    );
  }
  try {
    return await openSqlite({ path: chosen.path }, surroundings);
  } catch (error) {
    surroundings.log.error('the database file could not be opened', error);
    throw new StartupError([
      'Service:Database:Path (Service__Database__Path) names a file that cannot be opened as a database.',
    ]);
  }
}
