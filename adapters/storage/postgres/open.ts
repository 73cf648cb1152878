/**
 * Opens a Postgres database for the service. It connects on first use, so the server may start after the service.
 *
 * A call goes to one of the pools of connections to the primary (pool/pool.ts), within time limits (limits.ts). Errors are
 * classified (errors.ts), and explained in sentences (faults.ts).
 *
 * A decision (decide.ts) takes its locks (locks.ts), reads facts (facts.ts, live-tasks.ts), writes effects
 * (effects.ts) and appends records (append.ts), all in one transaction. Queries run through ask.ts. migrate.ts,
 * apply-migrations.ts and serving-role.ts create the schema and its privileges. archives.ts and restores.ts serve `mandate audit-archive` and
 * `mandate after-restore`.
 */

import type { Instant } from '../../../domain/instant.ts';
import { decisionOutcomes } from '../decision-outcomes.ts';
import { readBacklog } from '../queries/backlog.ts';
import { queryPorts } from '../queries/ports.ts';
import { sweeping } from '../queries/sweeping.ts';
import type { Storage, StorageSurroundings } from '../storage.ts';
import type { MigrationOptions } from './apply-migrations.ts';
import { postgresAsk, postgresChange } from './ask.ts';
import { postgresCheckpoints } from './checkpoints.ts';
import { readDatabaseTime } from './database-time.ts';
import { postgresDecisions } from './decide.ts';
import { lacksPartition, orRefusal } from './errors.ts';
import { postgresLedger } from './ledger.ts';
import { LIMITS, type LimitsByUse, POOL_SIZE, RESERVED_CONNECTIONS } from './limits.ts';
import { createPartitions, readSchemaStatus } from './migrate.ts';
import { missingPartitions } from './missing-partitions.ts';
import { postgresOutbox } from './outbox.ts';
import { openServingPools, refuseSharedSessions, type ServingPools } from './pool/pool.ts';
import { postgresReadiness } from './readiness.ts';
import { afterRestore } from './restores.ts';
import { postgresFreeing } from './sweeping.ts';

export interface PostgresOptions {
  /** A libpq URI, for the serving role. */
  readonly connectionString: string;
  /** Connects as the role that owns the schema, if that is another role. */
  readonly migrationConnectionString?: string | undefined;
  /** The maximum number of connections for requests. CONNECTIONS_PER_PROCESS adds those of the other pools. */
  readonly poolSize?: number | undefined;
  /** The time limits; LIMITS unless a test needs others. */
  readonly limits?: LimitsByUse | undefined;
  /** Loads the code of `migrate`, and with it Knex (apply-migrations.ts). A service never calls it. */
  readonly loadMigrating: () => Promise<{ migratePostgres(options: MigrationOptions): Promise<readonly string[]> }>;
  /** The number of months after the current one for which `migrate` creates partitions. */
  readonly monthsAhead?: number | undefined;
}

/** The default of `Service:Audit:Partitions:MonthsAhead`. */
const MONTHS_AHEAD = 2;

export async function openPostgres(options: PostgresOptions, surroundings: StorageSurroundings): Promise<Storage> {
  const { clock, log, databaseClock } = surroundings;
  const { connectionString, migrationConnectionString = connectionString, monthsAhead = MONTHS_AHEAD } = options;
  const { limits = LIMITS, poolSize = POOL_SIZE } = options;
  const pools = openServingPools({ connectionString, poolSize, limits }, log);
  const { requests, readiness } = pools;
  const createAhead = (now: Instant, months: number) => requests.transact((run) => createPartitions(run, now, months));
  const makePartitions = missingPartitions(
    () => createAhead(clock.now(), monthsAhead),
    () => performance.now(),
    log,
  );
  const outcomes = decisionOutcomes(() => performance.now());
  const decisions = postgresDecisions(
    { own: requests, ...pools.switches },
    limits.serving.acquire,
    poolSize - RESERVED_CONNECTIONS,
    databaseClock,
    {
      committed: outcomes.committed,
      failed(error) {
        outcomes.failed(error);
        if (lacksPartition(error)) makePartitions();
      },
    },
  );

  const ask = postgresAsk(requests, limits.serving.acquire);
  const change = postgresChange(requests);
  // With the short limits of the readiness check: a metrics scrape does not wait longer.
  const askReadiness = postgresAsk(readiness);
  return {
    decide: decisions.decide,
    ...queryPorts(ask, change),
    sweeping: sweeping(change, postgresFreeing),
    ledger: postgresLedger(requests),
    checkpoints: postgresCheckpoints(requests),
    outbox: postgresOutbox(requests, pools.draining, clock, log),
    readiness: postgresReadiness(readiness, clock, { outcomes, primary: pools.primary, makePartitions }),
    decisionsFail: async () => outcomes.failing() !== undefined,
    databaseTime: databaseClock === undefined ? () => readDatabaseTime(readiness.run) : async () => databaseClock.now(),
    backlog: () => readBacklog(askReadiness),
    lines: pools.lines,
    schemaStatus: () =>
      orRefusal('serving', async () => {
        await refuseSharedSessions(pools.host(), 'serving');
        return readSchemaStatus(requests.run);
      }),
    async migrate() {
      const servingRole = await servingRoleOf(pools);
      const migration = { connectionString: migrationConnectionString, servingRole, now: clock.now(), monthsAhead };
      const { migratePostgres } = await options.loadMigrating();
      return orRefusal('migrating', () => migratePostgres(migration));
    },
    afterRestore: (request) => orRefusal('migrating', () => afterRestore(migrationConnectionString, request, log)),
    createPartitions: createAhead,
    async close() {
      pools.switches.close();
      await decisions.close();
      await pools.close();
    },
  };
}

async function servingRoleOf({ host, requests }: ServingPools): Promise<string> {
  await refuseSharedSessions(host(), 'serving');
  const asking = { name: 'role', text: 'select current_user as role' };
  const { rows } = await orRefusal('serving', () => requests.run<{ role: string }>(asking));
  if (rows[0] === undefined) throw new Error('Postgres did not name the serving role');
  return rows[0].role;
}
