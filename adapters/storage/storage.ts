/**
 * An open database, with either engine.
 *
 * `postgres/open.ts` and `sqlite/open.ts` each make the same ports. Writes are decisions (`application/decisions`):
 * collector.ts batches those that wait, and an engine's `decide` locks, reads the facts, judges, and writes the effects
 * in one transaction.
 *
 * Facts and effects of single rows are data for both engines (row-facts.ts, row-effects.ts, tables.ts); an engine's
 * `facts` and `effects` have the others. Reads are queries, also data for both (`queries`). dialect.ts has the
 * differences in their SQL, and `rows` converts between rows and objects. Each engine keeps its own ledger,
 * checkpoints, outbox and migrations.
 */

import type { Checkpoints } from '../../application/ports/checkpoints.ts';
import type { Decisions } from '../../application/ports/decisions.ts';
import type { Ledger } from '../../application/ports/ledger.ts';
import type { Outbox } from '../../application/ports/outbox.ts';
import type { Clock, ReadinessCheck } from '../../application/ports/runtime.ts';
import type {
  Backlog,
  DatabaseLine,
  RestoreOutcome,
  RestoreRequest,
  SchemaStatus,
  Sweeping,
} from '../../application/ports/storage.ts';
import type { Log } from '../../application/ports/telemetry.ts';
import type { Instant } from '../../domain/instant.ts';
import type { QueryPorts } from './queries/ports.ts';

/** A member that is an object is a port, and has spans (`../telemetry/spans.ts`), except `readiness`. */
export interface Storage extends Decisions, QueryPorts {
  readonly sweeping: Sweeping;
  readonly ledger: Ledger;
  readonly checkpoints: Checkpoints;
  readonly outbox: Outbox;
  /** The check `database` of `/readyz`. It has no span: load balancers ask it all the time, and its answer says what failed. */
  readonly readiness: ReadinessCheck;
  /** Whether decisions of this process failed in the last ten seconds, and none succeeded since. It queries no database. */
  decisionsFail(): Promise<boolean>;

  /**
   * Reads the database's own clock. `undefined` if it has none: SQLite uses this machine's.
   *
   * @throws StorageUnavailable within a second or so
   */
  readonly databaseTime: (() => Promise<Instant>) | undefined;

  /**
   * For metrics and the console's *Now*, which ask every few seconds: without a span.
   *
   * @throws StorageUnavailable when the database does not answer within a few seconds
   */
  backlog(): Promise<Backlog>;

  /** The number of waiting calls and connections of each pool now. It queries no database. */
  lines(): readonly DatabaseLine[];

  /** @throws StorageUnavailable if the database does not answer, DatabaseRefusal if it refuses */
  schemaStatus(): Promise<SchemaStatus>;

  /**
   * Brings the schema up to date in one transaction, and returns the names of the applied migrations. Several processes
   * may call it at once. An interrupted migration leaves nothing behind, not even a lock.
   */
  migrate(): Promise<readonly string[]>;

  /**
   * Creates the missing partitions of the ledger, from the month of `now` to `monthsAhead` months later. Safe to repeat,
   * and to call on several replicas at once. On SQLite, which has no partitions, it does nothing.
   */
  createPartitions(now: Instant, monthsAhead: number): Promise<void>;

  /**
   * After the database went back in time: moves the ledger's sequence on, and refuses assertions issued before now. The time
   * of each approval that was granted and not used is over. Records the restore, all in one transaction. Repeatable. On
   * Postgres as the role that owns the schema.
   */
  afterRestore(request: RestoreRequest): Promise<RestoreOutcome>;

  /**
   * Refuses decisions that wait for a permit, and all later ones, with StorageUnavailable: they changed nothing. Waits for
   * the calls under way, then closes every connection.
   */
  close(): Promise<void>;
}

/** A database that audit commands have opened to read. */
export type LedgerReading = QueryPorts & Pick<Storage, 'ledger' | 'checkpoints' | 'schemaStatus' | 'close'>;

/** The dependencies of a database adapter. */
export interface StorageSurroundings {
  readonly clock: Clock;
  readonly log: Log;
  /** In tests: replaces the clock of the Postgres server, which cannot be moved. */
  readonly databaseClock?: Clock | undefined;
}
