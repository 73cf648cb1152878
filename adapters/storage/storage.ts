/** What an opened database gives to the rest of the service, whichever engine it is. */

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
 * `absent`: never migrated. `behind`: `mandate migrate` has to run. `ahead`: a newer release has migrated it, as
 * happens to the older replicas while a release is rolled out.
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

  /** Who waits for the database, now; answered without it. */
  lines(): readonly DatabaseLine[];

  /** @throws StorageUnavailable when the database does not answer, DatabaseRefusal when it answers that it will not */
  schemaStatus(): Promise<SchemaStatus>;

  /**
   * Brings the schema up to date, in one transaction, and answers the names of the migrations it applied. Safe when
   * several processes do it at once, and after one that died: nothing of an interrupted migration stays, no lock either.
   */
  migrate(): Promise<readonly string[]>;

  /**
   * Sees to it that the ledger can take records from the month of `now` to `monthsAhead` months later. Safe to repeat
   * and on several replicas at once; does nothing on an engine that does not partition its ledger.
   */
  createPartitions(now: Instant, monthsAhead: number): Promise<void>;

  /** Waits for what is under way, then closes every connection. */
  close(): Promise<void>;
}

/** What whoever only looks at a ledger has of it. */
export type LedgerReading = Pick<Storage, 'checkpoints' | 'schemaStatus' | 'close'>;

/** What a database adapter needs of its surroundings. */
export interface StorageSurroundings {
  readonly clock: Clock;
  readonly log: Log;
}
