/**
 * A pool of connections to the primary. Each connection gets its session settings, and is examined (`primary.ts`), before
 * its first use. It lives for a minute at most, so that a process does not stay on a server that its address left.
 *
 * A connection is destroyed when its call reaches its time limit: the call may still commit, and its late answer must not be
 * taken for the answer to the next call.
 */

import type { Socket } from 'node:net';
import pg from 'pg';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { DatabaseLine } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { columnTypes } from './column-types.ts';
import { watchCommits } from './commits.ts';
import { NotThePrimary, WentBack } from './errors.ts';
import { COMMITS_UNANSWERED, OVERTAKEN } from './faults.ts';
import { clientOf, type Hosts, hosts } from './hosts.ts';
import { CLOSING_LIMIT_MS, type Limits } from './limits.ts';
import { poolConnections } from './pool-connections.ts';
import { type Examination, sessionsOf } from './pool-sessions.ts';
import type { UnansweredCommits } from './unanswered.ts';
import { type IsThere, unlessSilent } from './watchdog.ts';

export interface PoolOptions {
  /** The URI of one host, or the hosts that all pools of a process share. */
  readonly connectionString: string | Hosts;
  readonly poolSize: number;
  readonly limits: Limits;
  /** Set if the limits are longer than an operator waits for a frozen server. The watchdog then aborts calls earlier. */
  readonly isThere?: IsThere | undefined;
  /** `undefined` for commands that only read: they may read from a standby, and end soon. */
  readonly serving?: ServingPool | undefined;
}

/** Further options of a pool in a serving process. */
export interface ServingPool extends Examination {
  /** Whether the last idle connection stays open. */
  readonly keepsOne: boolean;
  /** Counts the pool's lost commits. `undefined` if it never commits. */
  readonly unanswered?: UnansweredCommits | undefined;
  /** How many commits may be without an answer before the pool refuses further writes. */
  readonly mostUnanswered: number;
}

export interface PrimaryPool {
  /**
   * Runs the work on a connection that no other call uses at the same time.
   *
   * @param purpose whether the work writes. It is then refused while too many commits got no answer
   * @throws NoConnection if the pool got no connection, so that nothing was sent
   * @throws NotThePrimary if a later primary was seen by the end of the work, so that its answer may be outdated
   * @throws WentBack if the database went back in time
   */
  use<Answer>(purpose: 'read' | 'write', work: (client: pg.PoolClient) => Promise<Answer>): Promise<Answer>;
  /** The pool's state now. */
  line(name: string): DatabaseLine;
  close(): Promise<void>;
}

export function openPool(options: PoolOptions, log: Log): PrimaryPool {
  const { connectionString, poolSize, limits, isThere, serving } = options;
  const known = typeof connectionString === 'string' ? hosts([connectionString]) : connectionString;
  const { pool, close } = driverPool(options, known, log);
  const sessions = sessionsOf(limits, serving, known);
  const connections = poolConnections(pool, {
    poolSize,
    known,
    sessions,
    acquireLimit: limits.acquire,
    primary: serving?.primary,
    unanswered: serving?.unanswered,
  });

  async function useOnce<Answer>(
    work: (client: pg.PoolClient) => Promise<Answer>,
    attempt: { hasBegun: boolean },
  ): Promise<Answer> {
    const client = await connections.acquire();
    let fault: unknown;
    const call = async () => {
      const session = await sessions.prepare(client);
      attempt.hasBegun = true;
      const answer = await work(client);
      if (sessions.isOutdated(session)) throw new NotThePrimary(OVERTAKEN);
      if (serving?.primary.wentBack() === true) throw new WentBack();
      return answer;
    };
    try {
      return await (isThere === undefined ? call() : unlessSilent(call, isThere));
    } catch (error) {
      fault = error;
      throw error;
    } finally {
      connections.release(client, fault);
    }
  }

  return {
    async use(purpose, work) {
      if (purpose === 'write' && (serving?.unanswered?.count ?? 0) >= (serving?.mostUnanswered ?? 1)) {
        throw new StorageUnavailable('Earlier commits got no answer', { fault: COMMITS_UNANSWERED });
      }
      for (let tried = 1; ; tried++) {
        const attempt = { hasBegun: false };
        try {
          return await useOnce(work, attempt);
        } catch (error) {
          // The next connection goes to the next host.
          if (attempt.hasBegun || !(error instanceof NotThePrimary) || tried >= known.count) throw error;
        }
      }
    },
    line: (name) => ({
      name,
      waiting: pool.waitingCount,
      connections: { used: pool.totalCount - pool.idleCount, free: pool.idleCount, most: poolSize },
    }),
    async close() {
      serving?.unanswered?.close();
      await close();
    },
  };
}

/** The pool of the driver. @returns also how to close it with its sockets */
function driverPool({ poolSize, limits, isThere, serving }: PoolOptions, known: Hosts, log: Log) {
  const sockets = new Set<Socket>();
  const pool = new pg.Pool({
    Client: clientOf(known, limits.acquire / known.count, (socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    }),
    application_name: 'mandate',
    types: columnTypes,
    keepAlive: true,
    max: poolSize,
    min: serving?.keepsOne === true ? 1 : 0,
    // The limit of a call that waits for a busy connection. A host has its share of it to accept one (`clientOf`).
    connectionTimeoutMillis: limits.acquire,
    query_timeout: limits.query,
    // In pipeline mode, pg closes a connection only after all answers. A call that the watchdog aborted gets no answer.
    pipeline: isThere === undefined,
  });
  pool.on('error', (error) => log.warn('an idle database connection failed', { detail: error.message }));
  // The pool listens for errors only while the connection is idle. A query in progress rejects with the same error.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    watchCommits(client);
  });
  return {
    pool,
    async close() {
      await pool.end();
      // A frozen server never closes the connection, and each open socket would keep the process alive.
      for (const socket of sockets) if (!(await closed(socket))) socket.destroy();
    },
  };
}

/** Whether the socket closes within CLOSING_LIMIT_MS. */
function closed(socket: Socket): Promise<boolean> {
  if (socket.closed) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), CLOSING_LIMIT_MS);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });
}
