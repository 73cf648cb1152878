/** An opened database, on either engine. */

import type { Checkpoints } from '../../application/ports/checkpoints.ts';
import type { Decisions } from '../../application/ports/decisions.ts';
import type { Ledger } from '../../application/ports/ledger.ts';
import type { Outbox } from '../../application/ports/outbox.ts';
import type { Agents, ProvisionedUsers, Sponsors, Tasks } from '../../application/ports/queries.ts';
import type { Clock, ReadinessCheck } from '../../application/ports/runtime.ts';
import type { Backlog, DatabaseLine, Sweeping } from '../../application/ports/storage.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import type { Instant } from '../../domain/instant.ts';

/**
 * `absent`: never migrated. `behind`: `mandate migrate` has to run. `ahead`: a newer release has migrated it; older replicas
 * see this while the release is rolled out.
 */
export type SchemaStatus = 'current' | 'absent' | 'behind' | 'ahead';

export interface Storage extends Decisions {
  readonly agents: Agents;
  readonly tasks: Tasks;
  readonly sponsors: Sponsors;
  readonly sweeping: Sweeping;
  readonly provisionedUsers: ProvisionedUsers;
  readonly ledger: Ledger;
  readonly checkpoints: Checkpoints;
  readonly outbox: Outbox;
  /** For `/readyz`, under the name `database`. */
  readonly readiness: ReadinessCheck;

  /** @throws StorageUnavailable when the database does not answer within a few seconds */
  backlog(): Promise<Backlog>;

  /** The waiting calls of each pool, now. Does not ask the database. */
  lines(): readonly DatabaseLine[];

  /** @throws StorageUnavailable if the database does not answer, DatabaseRefusal if it refuses */
  schemaStatus(): Promise<SchemaStatus>;

  /**
   * Brings the schema up to date in one transaction, and returns the names of the applied migrations. Safe in several
   * processes at once. An interrupted migration leaves nothing behind, not even a lock.
   */
  migrate(): Promise<readonly string[]>;

  /**
   * Creates the ledger's missing partitions, from the month of `now` to `monthsAhead` months later. Safe to repeat, and on
   * several replicas at once. On SQLite, which has no partitions, it does nothing.
   */
  createPartitions(now: Instant, monthsAhead: number): Promise<void>;

  /**
   * Refuses the decisions that wait for a permit, and all later decisions, with StorageUnavailable: nothing was done. Waits
   * for the calls under way, then closes every connection.
   */
  close(): Promise<void>;
}

/** The part of a database that an auditor's command reads. */
export type LedgerReading = Pick<Storage, 'checkpoints' | 'schemaStatus' | 'close'>;

/** The dependencies of a database adapter. */
export interface StorageSurroundings {
  readonly clock: Clock;
  readonly log: Log;
}
