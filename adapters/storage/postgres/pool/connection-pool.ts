/**
 * A pool of connections to the primary. A session is prepared before its first use (`sessions.ts`). A connection lives for a
 * minute at most, so that a process does not stay on a server that its address left.
 *
 * A connection that leads to an earlier primary, or that a call may have left in a transaction, is destroyed. So is that of a
 * call that reached its time limit: the call may still commit, and its late answer must not be taken for the answer to the next.
 */

import type pg from 'pg';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import type { DatabaseLine } from '../../../../application/ports/storage.ts';
import type { Log } from '../../../../application/ports/telemetry.ts';
import {
  databaseClosed,
  gotNoAnswer,
  isTooManyConnections,
  losesConnection,
  NotThePrimary,
  noConnection,
  WentBack,
} from '../errors.ts';
import { COMMITS_UNANSWERED, isPoolExhausted, OVERTAKEN } from '../faults.ts';
import { type Limits, RENEWAL_RETRY_MS } from '../limits.ts';
import { driverPool } from './driver.ts';
import { type Hosts, hosts } from './hosts.ts';
import { type Examination, type Session, type Sessions, sessionsOf } from './sessions.ts';
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

export interface ConnectionPool {
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

export function connectionPool(options: PoolOptions, log: Log): ConnectionPool {
  const { connectionString, poolSize, limits, isThere, serving } = options;
  const known = typeof connectionString === 'string' ? hosts([connectionString]) : connectionString;
  // In pipeline mode, pg closes a connection only after all answers. A call that the watchdog aborted gets no answer.
  const sizes = { max: poolSize, min: serving?.keepsOne === true ? 1 : 0, pipeline: isThere === undefined };
  const { pool, close } = driverPool(known, limits, sizes, log);
  const sessions = sessionsOf(limits, serving, known);
  const { acquire, release } = connectionsOf({ ...options, pool, known, sessions });

  async function useOnce<Answer>(
    work: (client: pg.PoolClient) => Promise<Answer>,
    attempt: { hasBegun: boolean },
  ): Promise<Answer> {
    const client = await acquire();
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
      await close();
    },
  };
}

interface OpenPool extends PoolOptions {
  readonly pool: pg.Pool;
  readonly known: Hosts;
  readonly sessions: Sessions;
}

interface PooledConnections {
  /** @throws NoConnection, WentBack */
  acquire(): Promise<pg.PoolClient>;
  /** @param fault of the call that used the connection, if it failed */
  release(client: pg.PoolClient, fault: unknown): void;
}

function connectionsOf(open: OpenPool): PooledConnections {
  const { sessions, serving } = open;
  /** The last connection that is being replaced; `undefined` if none is. */
  let renewing: Promise<void> | undefined;

  function startRenewal(client: pg.PoolClient, session: Session): void {
    const renewal = renew(open, client, session).finally(() => {
      if (renewing === renewal) renewing = undefined;
    });
    renewing = renewal;
  }

  return {
    /** If the server gives no further connection, a call waits for the one that is being replaced: it may be used on. */
    async acquire() {
      const renewal = renewing;
      try {
        return await acquireCurrent(open);
      } catch (error) {
        if (renewal === undefined || !isTooManyConnections(error)) throw error;
        await renewal;
        return acquireCurrent(open);
      }
    },

    release(client, fault) {
      const session = sessions.of(client);
      // A failed `begin` or `rollback` can leave a transaction open. The next call must not run inside it.
      const isReusable = client.getTransactionStatus() === 'I' && (fault === undefined || !losesConnection(fault));
      if (isReusable && session !== undefined && performance.now() > session.renewAt) {
        return startRenewal(client, session);
      }
      const backend = gotNoAnswer(fault) ? session?.server?.backend : undefined;
      if (backend !== undefined && serving?.unanswered !== undefined) {
        // Closes the socket, and keeps the place in the pool until `release`.
        void client.end();
        serving.unanswered.keep(backend, () => client.release(true));
      } else {
        client.release(!isReusable);
      }
    },
  };
}

/** Destroys the connections to an earlier primary on its way. */
async function acquireCurrent(open: OpenPool): Promise<pg.PoolClient> {
  for (;;) {
    const client = await connect(open);
    if (!open.sessions.isOutdated(open.sessions.of(client))) return client;
    client.release(true);
  }
}

/** Tries each host once, and none after the limit. @throws NoConnection, WentBack */
async function connect({ pool, known, limits, serving }: OpenPool): Promise<pg.PoolClient> {
  const until = performance.now() + limits.acquire;
  for (let tried = 1; ; tried++) {
    if (pool.ending) throw databaseClosed();
    if (serving?.primary.wentBack() === true) throw new WentBack();
    const host = known.current();
    try {
      return await pool.connect();
    } catch (error) {
      if (isPoolExhausted(error)) throw noConnection(error, [host]);
      known.failed(host);
      if (tried >= known.count || performance.now() > until) throw noConnection(error, [host]);
    }
  }
}

/**
 * Replaces a connection. It is the last idle one only if no other is idle: then the new one opens before the old one
 * closes, because a server without free connections would leave the pool without any.
 */
async function renew(open: OpenPool, client: pg.PoolClient, session: Session): Promise<void> {
  if (open.pool.idleCount > 0 || open.pool.totalCount >= open.poolSize) return client.release(true);
  let next: pg.PoolClient | undefined;
  let fault: unknown;
  try {
    next = await acquireCurrent(open);
    await open.sessions.prepare(next);
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
