/**
 * Takes connections from a pool and gives them back. A connection that leads to an earlier primary, or that a call may have
 * left in a transaction, is destroyed. One that has reached its age is replaced.
 */

import type pg from 'pg';
import {
  databaseClosed,
  gotNoAnswer,
  isTooManyConnections,
  losesConnection,
  noConnection,
  WentBack,
} from './errors.ts';
import { isPoolExhausted } from './faults.ts';
import type { Hosts } from './hosts.ts';
import { RENEWAL_RETRY_MS } from './limits.ts';
import type { Session, Sessions } from './pool-sessions.ts';
import type { KnownPrimary } from './primary.ts';
import type { UnansweredCommits } from './unanswered.ts';

interface PoolConnections {
  /** @throws NoConnection, WentBack */
  acquire(): Promise<pg.PoolClient>;
  /** @param fault of the call that used the connection, if it failed */
  release(client: pg.PoolClient, fault: unknown): void;
}

interface Surroundings {
  readonly poolSize: number;
  readonly known: Hosts;
  readonly sessions: Sessions;
  /** Milliseconds. */
  readonly acquireLimit: number;
  readonly primary: KnownPrimary | undefined;
  readonly unanswered: UnansweredCommits | undefined;
}

export function poolConnections(pool: pg.Pool, surroundings: Surroundings): PoolConnections {
  const { sessions, unanswered } = surroundings;
  /** The last connection that is being replaced; `undefined` if none is. */
  let renewing: Promise<void> | undefined;
  const acquire = () => acquireCurrent(pool, surroundings);

  function startRenewal(client: pg.PoolClient, session: Session): void {
    const renewal = renew(pool, surroundings, client, session).finally(() => {
      if (renewing === renewal) renewing = undefined;
    });
    renewing = renewal;
  }

  return {
    /** If the server gives no further connection, a call waits for the one that is being replaced: it may be used on. */
    async acquire() {
      const renewal = renewing;
      try {
        return await acquire();
      } catch (error) {
        if (renewal === undefined || !isTooManyConnections(error)) throw error;
        await renewal;
        return acquire();
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
      if (backend !== undefined && unanswered !== undefined) {
        // Closes the socket, and keeps the place in the pool until `release`.
        void client.end();
        unanswered.keep(backend, () => client.release(true));
      } else {
        client.release(!isReusable);
      }
    },
  };
}

/** Destroys the connections to an earlier primary on its way. */
async function acquireCurrent(pool: pg.Pool, surroundings: Surroundings): Promise<pg.PoolClient> {
  const { sessions } = surroundings;
  for (;;) {
    const client = await connect(pool, surroundings);
    if (!sessions.isOutdated(sessions.of(client))) return client;
    client.release(true);
  }
}

/** Tries each host once, and none after the limit. @throws NoConnection, WentBack */
async function connect(pool: pg.Pool, { known, acquireLimit, primary }: Surroundings): Promise<pg.PoolClient> {
  const until = performance.now() + acquireLimit;
  for (let tried = 1; ; tried++) {
    if (pool.ending) throw databaseClosed();
    if (primary?.wentBack() === true) throw new WentBack();
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
async function renew(
  pool: pg.Pool,
  surroundings: Surroundings,
  client: pg.PoolClient,
  session: Session,
): Promise<void> {
  if (pool.idleCount > 0 || pool.totalCount >= surroundings.poolSize) return client.release(true);
  let next: pg.PoolClient | undefined;
  let fault: unknown;
  try {
    next = await acquireCurrent(pool, surroundings);
    await surroundings.sessions.prepare(next);
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
