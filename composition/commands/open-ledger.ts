/** The ledger for a command that only looks at it: nothing is written, and a schema of another release is not read. */

import type { LedgerFileProblem } from '../../adapters/persistence/sqlite/open-ledger.ts';
import type { LedgerReading, SchemaStatus } from '../../adapters/persistence/storage.ts';
import type { Log } from '../../application/ports/log.ts';
import { ADDON_FAULTS } from '../database-refusals.ts';
import { chosenDatabase } from '../settings/alternatives.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { StartupError } from '../startup-error.ts';
import { refuseUnusableConnection } from '../usable-connections.ts';

/** @throws StartupError, StorageUnavailable */
export async function openLedger(settings: SettingsSection<'Service:Database'>, log: Log): Promise<LedgerReading> {
  const chosen = chosenDatabase(settings);
  if (chosen.provider === 'sqlite') return openFile(chosen.path, log);
  await refuseUnusableConnection(chosen, 'serving');
  const { openPostgresLedger } = await import('../../adapters/persistence/postgres/open-ledger.ts');
  return ofThisRelease(openPostgresLedger(chosen.connectionString.reveal(), log), refuseOtherSchema);
}

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

const NO_LEDGER = `${NAMED} a file that holds no ledger: it is empty, or the database of something else.`;

async function openFile(path: string, log: Log): Promise<LedgerReading> {
  const { LedgerFileUnusable, openSqliteLedger } = await import('../../adapters/persistence/sqlite/open-ledger.ts');
  try {
    return await ofThisRelease(await openSqliteLedger(path, log), (status) => {
      if (status === 'absent') throw new StartupError([NO_LEDGER]);
      refuseOtherSchema(status);
    });
  } catch (error) {
    if (!(error instanceof LedgerFileUnusable)) throw error;
    if (error.problem === 'failed') log.error('the database file could not be opened', error);
    throw new StartupError([FILE_PROBLEMS[error.problem]]);
  }
}

async function ofThisRelease(ledger: LedgerReading, refuse: (status: SchemaStatus) => void): Promise<LedgerReading> {
  try {
    refuse(await ledger.schemaStatus());
    return ledger;
  } catch (error) {
    await ledger.close();
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
