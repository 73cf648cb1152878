/** Opens the ledger in a Postgres database for somebody who only looks at it, as an auditor does. */

import type { Log } from '../../../application/ports/telemetry.ts';
import type { LedgerReading } from '../storage.ts';
import { postgresCheckpoints } from './checkpoints.ts';
import { openConnections } from './connections.ts';
import { orRefusal } from './errors.ts';
import { AUDITING_LIMITS } from './limits.ts';
import { readSchemaStatus } from './migrate.ts';

/** While a page is worked through the next one is read, and the checkpoints too. */
const POOL_SIZE = 3;

/** @param connectionString of a role that may read the ledger; nothing is asked of the server yet */
export function openPostgresLedger(connectionString: string, log: Log): LedgerReading {
  const connections = openConnections({ connectionString, poolSize: POOL_SIZE, limits: AUDITING_LIMITS }, log);
  return {
    checkpoints: postgresCheckpoints(connections),
    schemaStatus: () => orRefusal('serving', () => readSchemaStatus(connections)),
    close: () => connections.close(),
  };
}
