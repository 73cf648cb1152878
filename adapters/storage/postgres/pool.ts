/**
 * A pool of connections to the primary. Each connection gets its session settings, and is examined (`primary.ts`), before
 * its first use. It lives for a minute at most, so that a process does not stay on a server that its address left.
 *
 * A connection is destroyed when its call reaches its time limit: the call may still commit, and its late answer must not be
 * taken for the answer to the next call.
 */

import { randomInt } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { DatabaseLine } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { columnTypes } from './column-types.ts';
import {
  databaseClosed,
  gotNoAnswer,
  isTooManyConnections,
  losesConnection,
  NotThePrimary,
  noConnection,
  WentBack,
} from './errors.ts';
import { COMMITS_UNANSWERED, isPoolExhausted, OVERTAKEN } from './faults.ts';
import { clientOf, HostClient, type Hosts, hosts } from './hosts.ts';
import { CLOSING_LIMIT_MS, IDLE_IN_TRANSACTION_LIMIT_MS, type Limits, RENEWAL_RETRY_MS } from './limits.ts';
import type { KnownPrimary, Server } from './primary.ts';
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
export interface ServingPool {
  readonly primary: KnownPrimary;
  /** Milliseconds after which a connection is replaced. */
  readonly lifetimeMs: number;
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

/** The state of an open connection. */
interface Session {
  /** `undefined` if connections are not examined. */
  readonly server: Server | undefined;
  /** By `performance.now()`. */
  renewAt: number;
}

export function openPool(options: PoolOptions, log: Log): PrimaryPool {
  const { connectionString, poolSize, limits, isThere, serving } = options;
  const primary = serving?.primary;
  const sockets = new Set<Socket>();
  const known = typeof connectionString === 'string' ? hosts([connectionString]) : connectionString;
  const pool = new pg.Pool({
    Client: clientOf(known, limits.acquire / known.count),
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
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
  });
  pool.on('error', (error) => log.warn('an idle database connection failed', { detail: error.message }));
  // The pool listens for errors only while the connection is idle. A query in progress rejects with the same error.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const sessions = new WeakMap<pg.PoolClient, Session>();
  /** The last connection that is being replaced; `undefined` if none is. */
  let renewing: Promise<void> | undefined;

  /** Destroys the connections to an earlier primary on its way. */
  async function acquire(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await connect();
      if (!isOutdated(sessions.get(client))) return client;
      client.release(true);
    }
  }

  /** If the server gives no further connection, a call waits for the one that is being replaced: it may be used on. */
  async function acquireOrAwait(): Promise<pg.PoolClient> {
    const renewal = renewing;
    try {
      return await acquire();
    } catch (error) {
      if (renewal === undefined || !isTooManyConnections(error)) throw error;
      await renewal;
      return acquire();
    }
  }

  /** Tries each host once, and none after the limit. @throws NoConnection, WentBack */
  async function connect(): Promise<pg.PoolClient> {
    const until = performance.now() + limits.acquire;
    for (let tried = 1; ; tried++) {
      if (pool.ending) throw databaseClosed();
      if (primary?.wentBack() === true) throw new WentBack();
      const host = known.current();
      try {
        return await pool.connect();
      } catch (error) {
        if (isPoolExhausted(error)) throw noConnection(error);
        known.failed(host);
        if (tried >= known.count || performance.now() > until) throw noConnection(error);
      }
    }
  }

  function isOutdated(session: Session | undefined): boolean {
    return session?.server !== undefined && primary?.isOutdated(session.server) === true;
  }

  async function prepare(client: pg.PoolClient): Promise<Session> {
    const prepared = sessions.get(client);
    if (prepared !== undefined) return prepared;
    await client.query(sessionSettings(limits));
    const examined = primary?.examine(async ({ name, text }, values = []) => {
      const { rows, rowCount } = await client.query({ name, text, values: [...values] });
      return { rows, count: rowCount ?? 0 };
    });
    const server = await examined?.catch((error: unknown) => {
      if (error instanceof NotThePrimary && client instanceof HostClient) known.failed(client.uri);
      throw error;
    });
    const session = { server, renewAt: performance.now() + lifetimeOf(serving) };
    sessions.set(client, session);
    return session;
  }

  function release(client: pg.PoolClient, fault: unknown): void {
    const session = sessions.get(client);
    // A failed `begin` or `rollback` can leave a transaction open. The next call must not run inside it.
    const isReusable = client.getTransactionStatus() === 'I' && (fault === undefined || !losesConnection(fault));
    if (isReusable && session !== undefined && performance.now() > session.renewAt) {
      const renewal = renew(client, session).finally(() => {
        if (renewing === renewal) renewing = undefined;
      });
      renewing = renewal;
      return;
    }
    const backend = gotNoAnswer(fault) ? session?.server?.backend : undefined;
    if (backend !== undefined && serving?.unanswered !== undefined) {
      // Closes the socket, and keeps the place in the pool until `release`.
      void client.end();
      serving.unanswered.keep(backend, () => client.release(true));
    } else {
      client.release(!isReusable);
    }
  }

  /**
   * Replaces a connection. It is the last idle one only if no other is idle: then the new one opens before the old one
   * closes, because a server without free connections would leave the pool without any.
   */
  async function renew(client: pg.PoolClient, session: Session): Promise<void> {
    if (pool.idleCount > 0 || pool.totalCount >= poolSize) return client.release(true);
    let next: pg.PoolClient | undefined;
    let fault: unknown;
    try {
      next = await acquire();
      await prepare(next);
    } catch (error) {
      fault = error;
    }
    if (isTooManyConnections(fault)) {
      session.renewAt = performance.now() + RENEWAL_RETRY_MS;
      return client.release();
    }
    client.release(true);
    next?.release(fault !== undefined);
  }

  async function useOnce<Answer>(
    work: (client: pg.PoolClient) => Promise<Answer>,
    attempt: { hasBegun: boolean },
  ): Promise<Answer> {
    const client = await acquireOrAwait();
    let fault: unknown;
    const call = async () => {
      const session = await prepare(client);
      attempt.hasBegun = true;
      const answer = await work(client);
      if (isOutdated(session)) throw new NotThePrimary(OVERTAKEN);
      if (primary?.wentBack() === true) throw new WentBack();
      return answer;
    };
    try {
      return await (isThere === undefined ? call() : unlessSilent(call, isThere));
    } catch (error) {
      fault = error;
      throw error;
    } finally {
      release(client, fault);
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
      await pool.end();
      // A frozen server never closes the connection, and each open socket would keep the process alive.
      for (const socket of sockets) if (!(await closed(socket))) socket.destroy();
    },
  };
}

/** Random, so that the connections of many replicas are not replaced at once. */
function lifetimeOf(serving: ServingPool | undefined): number {
  if (serving === undefined) return Number.POSITIVE_INFINITY;
  return randomInt(Math.ceil(serving.lifetimeMs * 0.75), serving.lifetimeMs + 1);
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

/**
 * Sent as statements, because poolers refuse start-up parameters that they do not know. Under a database's own default of
 * `synchronous_commit = off`, a decision that was answered could be lost.
 */
function sessionSettings({ lock, statement, idleInTransaction = IDLE_IN_TRANSACTION_LIMIT_MS }: Limits): string {
  return `
    set time zone 'UTC';
    set datestyle to 'ISO';
    set session characteristics as transaction isolation level read committed;
    set lock_timeout to ${lock};
    set statement_timeout to ${statement};
    set idle_in_transaction_session_timeout to ${idleInTransaction};
    select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`;
}
