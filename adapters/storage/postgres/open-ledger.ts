/** Opens the ledger in a Postgres database read-only, for example for an auditor. */

import type { Log } from '../../../application/ports/telemetry.ts';
import { queryPorts } from '../queries/ports.ts';
import type { LedgerReading } from '../storage.ts';
import { postgresAsk, postgresChange } from './ask.ts';
import { postgresCheckpoints } from './checkpoints.ts';
import { orRefusal } from './errors.ts';
import { postgresLedger } from './ledger.ts';
import { readSchemaStatus } from './migrate.ts';
import { openAuditing } from './pool/pool.ts';

/** Three at once: a page of records, the next page, and checkpoints. */
const POOL_SIZE = 3;

/**
 * @param uri of a role that may read the ledger. With one host, this does not connect yet
 * @throws DatabaseRefusal, StorageUnavailable
 */
export async function openPostgresLedger(uri: string, log: Log): Promise<LedgerReading> {
  const connections = await openAuditing(uri, 'serving', POOL_SIZE, log);
  return {
    ...queryPorts(postgresAsk(connections), postgresChange(connections)),
    ledger: postgresLedger(connections),
    checkpoints: postgresCheckpoints(connections),
    schemaStatus: () => orRefusal('serving', () => readSchemaStatus(connections.run)),
    close: () => connections.close(),
  };
}
