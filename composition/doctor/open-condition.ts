/** The database that the settings choose, for the doctor: nothing of it is changed. */

import { DatabaseRefusal } from '../../adapters/persistence/database-refusal.ts';
import type { OpenedStorage } from '../../application/doctor/storage-examinations.ts';
import type { Log } from '../../application/ports/log.ts';
import { describeDatabaseRefusal, FILE_PROBLEMS } from '../database-refusals.ts';
import { chosenDatabase } from '../settings/alternatives.ts';
import type { SettingsSection } from '../settings/settings.ts';
import { unusableConnection } from '../usable-connections.ts';

const CORRECT_IT =
  'Correct the connection string, or put the file where it says, readable to the user that the service runs as.';
const REBUILD = 'Run it where the service is installed, with the Node that the service runs on.';
const NAME_A_FILE = 'Name the file that `mandate migrate` made, and that the service may read and write.';

export async function openCondition(settings: SettingsSection<'Service:Database'>, log: Log): Promise<OpenedStorage> {
  const chosen = chosenDatabase(settings);
  if (chosen.provider === 'postgres') {
    const sentence = await unusableConnection(chosen, 'serving');
    if (sentence !== undefined) return { kind: 'unusable', sentence, remedy: CORRECT_IT };
    const { openPostgresCondition } = await import('../../adapters/persistence/postgres/open-condition.ts');
    const condition = openPostgresCondition(chosen.connectionString.reveal(), log);
    return { kind: 'opened', condition, refusal: describeRefusal };
  }
  const { LedgerFileUnusable, openSqliteCondition } = await import('../../adapters/persistence/sqlite/open-ledger.ts');
  try {
    return { kind: 'opened', condition: await openSqliteCondition(chosen.path, log), refusal: describeRefusal };
  } catch (error) {
    if (!(error instanceof LedgerFileUnusable)) throw error;
    const remedy = error.problem.startsWith('addon') ? REBUILD : NAME_A_FILE;
    return { kind: 'unusable', sentence: FILE_PROBLEMS[error.problem], remedy };
  }
}

function describeRefusal(error: unknown): string | undefined {
  return error instanceof DatabaseRefusal ? describeDatabaseRefusal(error) : undefined;
}
