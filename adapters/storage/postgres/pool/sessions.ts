/** Prepares the sessions of a pool's connections: their settings, the examination of their server, and their lifetime. */

import { randomInt } from 'node:crypto';
import type pg from 'pg';
import { NotThePrimary } from '../errors.ts';
import { IDLE_IN_TRANSACTION_LIMIT_MS, type Limits } from '../limits.ts';
import { COMMIT_SETTINGS } from './commits.ts';
import { HostClient } from './driver.ts';
import type { Hosts } from './hosts.ts';
import type { KnownPrimary, Server } from './primary.ts';

/** How a serving process examines its connections. */
export interface Examination {
  readonly primary: KnownPrimary;
  /** Milliseconds after which a connection is replaced. */
  readonly lifetimeMs: number;
}

/** The state of an open connection. */
export interface Session {
  /** `undefined` if connections are not examined. */
  readonly server: Server | undefined;
  /** A time of `performance.now()`. */
  renewAt: number;
}

export interface Sessions {
  /** `undefined` before the connection's first use. */
  of(client: pg.PoolClient): Session | undefined;
  /** @throws NotThePrimary, and whatever the examination of the server throws */
  prepare(client: pg.PoolClient): Promise<Session>;
  /** Whether the connection leads to an earlier primary. */
  isOutdated(session: Session | undefined): boolean;
}

export function sessionsOf(limits: Limits, examination: Examination | undefined, known: Hosts): Sessions {
  const primary = examination?.primary;
  const sessions = new WeakMap<pg.PoolClient, Session>();
  return {
    of: (client) => sessions.get(client),

    async prepare(client) {
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
      const session = { server, renewAt: performance.now() + lifetimeOf(examination) };
      sessions.set(client, session);
      return session;
    },

    isOutdated: (session) => session?.server !== undefined && primary?.isOutdated(session.server) === true,
  };
}

/** Random, so that the connections of many replicas are not replaced at once. */
function lifetimeOf(examination: Examination | undefined): number {
  if (examination === undefined) return Number.POSITIVE_INFINITY;
  return randomInt(Math.ceil(examination.lifetimeMs * 0.75), examination.lifetimeMs + 1);
}

/** Sent as statements, because poolers refuse start-up parameters that they do not know. */
function sessionSettings({ lock, statement, idleInTransaction = IDLE_IN_TRANSACTION_LIMIT_MS }: Limits): string {
  return `
    set time zone 'UTC';
    set datestyle to 'ISO';
    set session characteristics as transaction isolation level read committed;
    set lock_timeout to ${lock};
    set statement_timeout to ${statement};
    set idle_in_transaction_session_timeout to ${idleInTransaction};
    ${COMMIT_SETTINGS}`;
}
