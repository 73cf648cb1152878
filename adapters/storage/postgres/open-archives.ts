/** Opens what archiving needs of a Postgres database, as the role that owns the schema: only an owner can drop. */

import type { Archives } from '../../../application/ports/archives.ts';
import type { Checkpoints } from '../../../application/ports/checkpoints.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { SchemaStatus } from '../storage.ts';
import { postgresArchives } from './archives.ts';
import { postgresCheckpoints } from './checkpoints.ts';
import { openConnections } from './connections.ts';
import { AUDITING_LIMITS } from './limits.ts';
import { readSchemaStatus } from './migrate.ts';
import { orRefusal } from './refusal.ts';

export interface OpenedArchives {
  readonly archives: Archives;
  readonly checkpoints: Checkpoints;
  schemaStatus(): Promise<SchemaStatus>;
  /** Whether the role may do with the ledger what its owner may. */
  isOwner(): Promise<boolean>;
  close(): Promise<void>;
}

/** One holds other archivers off, one leaves; while a page is written the next one is read, and the checkpoints too. */
const POOL_SIZE = 4;

const ownsLedger = {
  name: 'owns_ledger',
  text: `select pg_has_role(relowner, 'usage') as owns from pg_class where oid = 'ledger'::regclass`,
};

export function openPostgresArchives(connectionString: string, log: Log): OpenedArchives {
  const connections = openConnections({ connectionString, poolSize: POOL_SIZE, limits: AUDITING_LIMITS }, log);
  return {
    archives: postgresArchives(connections),
    checkpoints: postgresCheckpoints(connections),
    schemaStatus: () => orRefusal('serving', () => readSchemaStatus(connections)),
    async isOwner() {
      const { rows } = await connections.run<{ owns: boolean }>(ownsLedger);
      return rows[0]?.owns === true;
    },
    close: () => connections.close(),
  };
}
