/**
 * Opens a Postgres database for the service. It connects on first use, so the server may start after the service.
 *
 * A call goes through connections.ts to one of four pools (pool.ts): for requests, switches, the sink and readiness. A
 * pool connects to the primary (hosts.ts, primary.ts), within time limits (limits.ts), and watchdog.ts aborts calls to
 * a frozen server. Errors are classified (errors.ts), and explained in sentences (faults.ts).
 *
 * A decision (decide.ts) takes its locks (locks.ts), reads facts (facts.ts, live-tasks.ts), writes effects
 * (effects.ts) and appends records (append.ts), all in one transaction. Queries run through ask.ts. migrate.ts,
 * apply-migrations.ts and serving-role.ts create the schema and its privileges. archives.ts and restores.ts serve `mandate audit-archive` and
 * `mandate after-restore`.
 */

import { decisionOutcomes } from '../decision-outcomes.ts';
import { ledgerMemory } from '../ledger-memory.ts';
import { outboxBacklog, sealingBacklog } from '../queries/backlog.ts';
import { transparencyLog } from '../queries/log.ts';
import { queryPorts } from '../queries/ports.ts';
import { sweeping } from '../queries/sweeping.ts';
import type { Storage, StorageSurroundings } from '../storage.ts';
import type { MigrationOptions } from './apply-migrations.ts';
import { postgresAsk, postgresChange } from './ask.ts';
import { postgresCheckpoints } from './checkpoints.ts';
import { hostsOf } from './connection-string.ts';
import { openConnections } from './connections.ts';
import { readDatabaseTime } from './database-time.ts';
import { postgresDecisions } from './decide.ts';
import { lacksPartition, orRefusal } from './errors.ts';
import { watchHosts } from './host-watch.ts';
import { hosts } from './hosts.ts';
import { postgresLedger } from './ledger.ts';
import {
  CONNECTION_LIFETIME_MS,
  DRAINING_POOL_SIZE,
  KEEP_OPEN_MS,
  LIMITS,
  type LimitsByUse,
  POOL_SIZE,
  READINESS_LIFETIME_MS,
  READINESS_POOL_SIZE,
  RESERVED_CONNECTIONS,
  REVOKING_POOL_SIZE,
  WATCH_HOSTS_MS,
} from './limits.ts';
import { createPartitions, readSchemaStatus } from './migrate.ts';
import { missingPartitions } from './missing-partitions.ts';
import { postgresOutbox } from './outbox.ts';
import type { ServingPool } from './pool.ts';
import { knownPrimary } from './primary.ts';
import { postgresReadiness } from './readiness.ts';
import { afterRestore } from './restores.ts';
import { refuseSharedSessions } from './shared-sessions.ts';
import { postgresFreeing } from './sweeping.ts';
import { switchConnections } from './switch-connections.ts';
import { unansweredCommits } from './unanswered.ts';
import { type IsThere, serverIsThere } from './watchdog.ts';

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

/** Uses a connection, so that the pool keeps one, and replaces an old one. */
const KEEP_OPEN = { name: 'keep_open', text: 'select 1' };

/** The default of `Service:Audit:Partitions:MonthsAhead`. */
const MONTHS_AHEAD = 2;

export async function openPostgres(options: PostgresOptions, surroundings: StorageSurroundings): Promise<Storage> {
  const { clock, log, databaseClock } = surroundings;
  const { connectionString, migrationConnectionString = connectionString, monthsAhead = MONTHS_AHEAD } = options;
  const { limits = LIMITS, poolSize = POOL_SIZE } = options;
  const outcomes = decisionOutcomes(() => performance.now());
  const known = hosts(hostsOf(connectionString));
  const primary = knownPrimary(ledgerMemory(), log);
  const connect = (size: number, use: keyof LimitsByUse, serving: Omit<ServingPool, 'primary'>, isThere?: IsThere) =>
    openConnections(
      {
        connectionString: known,
        poolSize: size,
        limits: limits[use],
        isThere,
        serving: { primary, ...serving },
      },
      log,
    );
  const readiness = connect(READINESS_POOL_SIZE, 'readiness', {
    lifetimeMs: READINESS_LIFETIME_MS,
    keepsOne: true,
    mostUnanswered: READINESS_POOL_SIZE,
  });
  const isThere = serverIsThere(() => readiness.run({ name: 'is_there', text: 'select 1' }));
  /** @param reserved the connections that writes without an answer leave to reads */
  const writing = (size: number, keepsOne = false, reserved = 0) => ({
    lifetimeMs: CONNECTION_LIFETIME_MS,
    keepsOne,
    unanswered: unansweredCommits(readiness.run),
    mostUnanswered: Math.max(size - reserved, 1),
  });
  const connections = connect(poolSize, 'serving', writing(poolSize, false, RESERVED_CONNECTIONS));
  const draining = connect(DRAINING_POOL_SIZE, 'draining', writing(DRAINING_POOL_SIZE));
  const revoking = connect(REVOKING_POOL_SIZE, 'revoking', writing(REVOKING_POOL_SIZE, true), isThere);
  const keeping = setInterval(() => {
    for (const pool of [revoking, readiness]) pool.run(KEEP_OPEN).catch(() => undefined);
  }, KEEP_OPEN_MS).unref();
  let watched: Promise<void> | undefined;
  const watching = setInterval(() => {
    watched ??= watchHosts(known, primary).finally(() => {
      watched = undefined;
    });
  }, WATCH_HOSTS_MS).unref();
  const switches = switchConnections({ revoking, requests: connections }, limits.revoking, isThere);
  const makePartitions = missingPartitions(
    () => connections.transact((run) => createPartitions(run, clock.now(), monthsAhead)),
    () => performance.now(),
    log,
  );
  const decisions = postgresDecisions(
    { own: connections, ...switches },
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

  const ask = postgresAsk(connections, limits.serving.acquire);
  const change = postgresChange(connections);
  const askReadiness = postgresAsk(readiness);
  return {
    decide: decisions.decide,
    ...queryPorts(ask, change),
    sweeping: sweeping(change, postgresFreeing),
    ledger: postgresLedger(connections),
    checkpoints: postgresCheckpoints(connections),
    outbox: postgresOutbox(connections, draining, clock, log),
    transparencyLog: transparencyLog(ask, change),
    readiness: postgresReadiness(readiness, clock, { outcomes, primary, makePartitions }),
    decisionsFail: async () => outcomes.failing() !== undefined,
    databaseTime: databaseClock === undefined ? () => readDatabaseTime(readiness.run) : async () => databaseClock.now(),
    // Uses the short limits of the readiness check: a metrics scrape does not wait longer.
    backlog: async () => ({
      sealing: await sealingBacklog(askReadiness),
      outbox: await askReadiness(outboxBacklog, undefined),
    }),
    lines: () => [
      connections.line('serving'),
      revoking.line('stopping'),
      draining.line('draining'),
      readiness.line('readiness'),
    ],
    schemaStatus: () =>
      orRefusal('serving', async () => {
        await refuseSharedSessions(known.current(), 'serving');
        return readSchemaStatus(connections.run);
      }),
    async migrate() {
      await refuseSharedSessions(known.current(), 'serving');
      const asking = { name: 'role', text: 'select current_user as role' };
      const { rows } = await orRefusal('serving', () => connections.run<{ role: string }>(asking));
      const servingRole = rows[0]?.role;
      if (servingRole === undefined) throw new Error('Postgres did not name the serving role');
      const now = clock.now();
      const migration = { connectionString: migrationConnectionString, servingRole, now, monthsAhead };
      const { migratePostgres } = await options.loadMigrating();
      return orRefusal('migrating', () => migratePostgres(migration));
    },
    afterRestore: (request) => orRefusal('migrating', () => afterRestore(migrationConnectionString, request, log)),
    createPartitions: (now, ahead) => connections.transact((run) => createPartitions(run, now, ahead)),
    async close() {
      clearInterval(keeping);
      clearInterval(watching);
      switches.close();
      await decisions.close();
      await Promise.all([connections.close(), revoking.close(), draining.close(), readiness.close(), watched]);
    },
  };
}
