/**
 * The pools of connections to Postgres. Files outside of this folder import only this one (`architecture.grit`).
 *
 * A call goes through transactions.ts, which begins, commits and retries, to one of four pools: for requests, switches, the
 * sink and readiness. A switch borrows a connection for requests if its pool gets none (switches.ts).
 *
 * - connection-pool.ts owns the connections: a call takes one and gives it back. It destroys or replaces them. driver.ts opens
 *   and closes them, and owns their sockets.
 * - sessions.ts prepares a connection before its first use: its settings, and the examination of its server.
 * - primary.ts owns what the process knows of the primary: timeline, and newest record. All pools share it, and the hosts.
 * - capabilities.ts goes on without what a hosted Postgres may lack: the timeline, and messages in the WAL.
 * - hosts.ts knows which of several hosts is in use, and finds the primary among them.
 * - Faults: commits.ts finds commits with a warning. unanswered.ts counts commits without an answer. watchdog.ts aborts calls
 *   to a frozen server. shared-sessions.ts finds a pooler in transaction mode. `../errors.ts` says what the pools throw.
 */

import type { DatabaseLine } from '../../../../application/ports/storage.ts';
import type { Log } from '../../../../application/ports/telemetry.ts';
import type { DatabaseRefusal } from '../../database-refusal.ts';
import { ledgerMemory } from '../../ledger-memory.ts';
import { hostsOf } from '../connection-string.ts';
import {
  AUDITING_LIMITS,
  CONNECTION_LIFETIME_MS,
  DRAINING_POOL_SIZE,
  KEEP_OPEN_MS,
  type LimitsByUse,
  READINESS_LIFETIME_MS,
  READINESS_POOL_SIZE,
  RESERVED_CONNECTIONS,
  REVOKING_POOL_SIZE,
  WATCH_HOSTS_MS,
} from '../limits.ts';
import { type Capabilities, serverCapabilities } from './capabilities.ts';
import { connectionPool, type PoolOptions, type ServingPool } from './connection-pool.ts';
import { hosts, primaryOf, watchHosts } from './hosts.ts';
import { type KnownPrimary, knownPrimary } from './primary.ts';
import { type Switches, switchesOn } from './switches.ts';
import { type Connections, transactionsOn } from './transactions.ts';
import { unansweredCommits } from './unanswered.ts';
import { type IsThere, serverIsThere } from './watchdog.ts';

export { failoverCondition } from './capabilities.ts';
export { COMMIT_SETTINGS, expectUnwarned, watchCommits } from './commits.ts';
export { primaryOf } from './hosts.ts';
export { refuseSharedSessions } from './shared-sessions.ts';
export type { Connections, Prepared, Run, Statement, Transactions } from './transactions.ts';

/** The pools of a serving process. They connect on first use. */
export interface ServingPools {
  readonly requests: Connections;
  readonly switches: Switches & Pick<Capabilities, 'writeMessage'>;
  /** For the sink: it may be slow, and must not hold connections that requests need. */
  readonly draining: Connections;
  readonly readiness: Connections;
  readonly primary: Pick<KnownPrimary, 'wentBack'>;
  /** The connection string of the host in use. */
  host(): string;
  /** The state of each pool now. */
  lines(): readonly DatabaseLine[];
  /** Call it once no decision is under way. */
  close(): Promise<void>;
}

interface ServingPoolsOptions {
  readonly connectionString: string;
  /** The maximum number of connections for requests. */
  readonly poolSize: number;
  readonly limits: LimitsByUse;
}

/** Uses a connection, so that the pool keeps one, and replaces an old one. */
const KEEP_OPEN = { name: 'keep_open', text: 'select 1' };
const IS_THERE = { name: 'is_there', text: 'select 1' };

export function openServingPools(options: ServingPoolsOptions, log: Log): ServingPools {
  const { connectionString, poolSize, limits } = options;
  const known = hosts(hostsOf(connectionString));
  const capabilities = serverCapabilities(log);
  const primary = knownPrimary(ledgerMemory(), log, capabilities);
  const open = (use: keyof LimitsByUse, size: number, serving: Omit<ServingPool, 'primary'>, isThere?: IsThere) =>
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
  const readiness = open('readiness', READINESS_POOL_SIZE, {
    lifetimeMs: READINESS_LIFETIME_MS,
    keepsOne: true,
    mostUnanswered: READINESS_POOL_SIZE,
  });
  const isThere = serverIsThere(() => readiness.run(IS_THERE));
  /** @param reserved the connections that writes without an answer leave to reads */
  const writing = (size: number, keepsOne = false, reserved = 0) => ({
    lifetimeMs: CONNECTION_LIFETIME_MS,
    keepsOne,
    unanswered: unansweredCommits(readiness.run),
    mostUnanswered: Math.max(size - reserved, 1),
  });
  const requests = open('serving', poolSize, writing(poolSize, false, RESERVED_CONNECTIONS));
  const draining = open('draining', DRAINING_POOL_SIZE, writing(DRAINING_POOL_SIZE));
  const revoking = open('revoking', REVOKING_POOL_SIZE, writing(REVOKING_POOL_SIZE, true), isThere);

  const keeping = setInterval(() => {
    for (const pool of [revoking, readiness]) pool.run(KEEP_OPEN).catch(() => undefined);
  }, KEEP_OPEN_MS).unref();
  let watched: Promise<void> | undefined;
  const watching = setInterval(() => {
    watched ??= watchHosts(known, primary).finally(() => {
      watched = undefined;
    });
  }, WATCH_HOSTS_MS).unref();

  return {
    requests,
    switches: {
      ...switchesOn({ revoking, requests }, limits.revoking, isThere),
      writeMessage: capabilities.writeMessage,
    },
    draining,
    readiness,
    primary,
    host: known.current,
    lines: () => [
      requests.line('serving'),
      revoking.line('stopping'),
      draining.line('draining'),
      readiness.line('readiness'),
    ],
    async close() {
      clearInterval(keeping);
      clearInterval(watching);
      await Promise.all([watched, ...[requests, revoking, draining, readiness].map((pool) => pool.close())]);
    },
  };
}

/** One pool. It connects on first use. */
export function openConnections(options: PoolOptions, log: Log): Connections {
  return transactionsOn(connectionPool(options, log), options.serving?.primary.committed ?? (() => undefined), log);
}

/**
 * One pool of a command, to the primary among the hosts of the URI. With one host, this does not connect yet.
 * @throws DatabaseRefusal, StorageUnavailable
 */
export async function openAuditing(
  uri: string,
  role: DatabaseRefusal['role'],
  poolSize: number,
  log: Log,
): Promise<Connections> {
  const connectionString = await primaryOf(uri, role);
  return openConnections({ connectionString, poolSize, limits: AUDITING_LIMITS }, log);
}
