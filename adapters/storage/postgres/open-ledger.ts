/** Opens the ledger in a Postgres database read-only, for example for an auditor. */

import type { Log } from '../../../application/ports/telemetry.ts';
import { approvals } from '../queries/approvals.ts';
import { transparencyLog } from '../queries/log.ts';
import type { LedgerReading } from '../storage.ts';
import { postgresAsk, postgresChange } from './ask.ts';
import { postgresCheckpoints } from './checkpoints.ts';
import { openConnections } from './connections.ts';
import { orRefusal } from './errors.ts';
import { primaryOf } from './find-primary.ts';
import { postgresLedger } from './ledger.ts';
import { AUDITING_LIMITS } from './limits.ts';
import { readSchemaStatus } from './migrate.ts';

/** Three at once: a page of records, the next page, and checkpoints. */
const POOL_SIZE = 3;

/**
 * @param uri of a role that may read the ledger. With one host, this does not connect yet
 * @throws DatabaseRefusal, StorageUnavailable
 */
export async function openPostgresLedger(uri: string, log: Log): Promise<LedgerReading> {
  const connectionString = await primaryOf(uri, 'serving');
  const connections = openConnections({ connectionString, poolSize: POOL_SIZE, limits: AUDITING_LIMITS }, log);
  const ask = postgresAsk(connections);
  return {
    approvals: approvals(ask),
    ledger: postgresLedger(connections),
    checkpoints: postgresCheckpoints(connections),
    transparencyLog: transparencyLog(ask, postgresChange(connections)),
    schemaStatus: () => orRefusal('serving', () => readSchemaStatus(connections.run)),
    close: () => connections.close(),
  };
}
