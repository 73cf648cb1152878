/** The ledger for a command that only looks at it: nothing is created, and a schema of another release is not read. */

import { existsSync } from 'node:fs';
import type { SchemaStatus, Storage, StorageSurroundings } from '../../adapters/persistence/storage.ts';
import { openStorage } from '../open-storage.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { StartupError } from '../startup-error.ts';

/** @throws StartupError, StorageUnavailable */
export async function openLedger(
  settings: SettingsSection<'Service:Database'>,
  surroundings: StorageSurroundings,
): Promise<Storage> {
  const path = settings['Service:Database:Path'];
  // Opening a SQLite file would create it.
  if (path !== undefined && !existsSync(path)) {
    throw new StartupError(['Service:Database:Path (Service__Database__Path) names no file.']);
  }
  const storage = await openStorage(settings, surroundings);
  try {
    refuseOtherSchema(await storage.schemaStatus());
    return storage;
  } catch (error) {
    await storage.close();
    throw error;
  }
}

/** @throws StartupError */
export function refuseOtherSchema(status: SchemaStatus): void {
  if (status === 'current') return;
  throw new StartupError([
    status === 'ahead'
      ? 'The database schema is of a newer release than this one.'
      : `The database schema is ${status === 'absent' ? 'not there' : 'not current'}: run mandate migrate.`,
  ]);
}
