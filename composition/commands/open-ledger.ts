/** Opens the ledger for a command that only reads: it writes nothing, and refuses a schema of another release. */

import type { LedgerReading, SchemaStatus } from '../../adapters/storage/storage.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import { FILE_PROBLEMS, NO_LEDGER } from '../database-refusals.ts';
import { databaseChoice } from '../settings/alternatives.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { StartupError } from '../startup-error.ts';
import { refuseUnusableConnection } from '../usable-connections.ts';

/** @throws StartupError, StorageUnavailable */
export async function openLedger(settings: SettingsSection<'Service:Database'>, log: Log): Promise<LedgerReading> {
  const chosen = databaseChoice(settings);
  if (chosen.provider === 'sqlite') return openFile(chosen.path, log);
  await refuseUnusableConnection(chosen, 'serving');
  const { openPostgresLedger } = await import('../../adapters/storage/postgres/open-ledger.ts');
  return ofThisRelease(openPostgresLedger(chosen.connectionString.reveal(), log), refuseOtherSchema);
}

async function openFile(path: string, log: Log): Promise<LedgerReading> {
  const { LedgerFileUnusable, openSqliteLedger } = await import('../../adapters/storage/sqlite/open-ledger.ts');
  try {
    return await ofThisRelease(await openSqliteLedger(path), (status) => {
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
