/**
 * Knex's pool of connections to Postgres, and the two ways in which they are used: one prepared round trip for a
 * decision, or a short transaction of built queries for what is rare.
 *
 * Knex builds queries and owns the connections; we run them, because only so a connection whose call timed out can be
 * destroyed. Such a call may still commit, and its answer must not be taken for the next one's.
 */

import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import createKnex, { type Knex } from 'knex';
import type pg from 'pg';
import type { DatabaseLine } from '../../../application/ports/storage.ts';
import { StorageUnavailable } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Bound } from '../rows/column.ts';
import { knexLog } from '../rows/knex-log.ts';
import type { Built, Rows } from '../rows/query.ts';
import { columnTypes } from './column-types.ts';
import { asUnavailable, isRolledBack, isSetBack, losesConnection } from './errors.ts';
import {
  ATTEMPTS,
  IDLE_IN_TRANSACTION_LIMIT_MS,
  LEAVING_LIMIT_MS,
  type Limits,
  RETRY_PAUSE_MS,
  RETRYING_LIMIT_MS,
} from './limits.ts';
import { type IsThere, unlessSilent } from './silence.ts';

/** A statement that each connection parses once. */
export interface Prepared {
  readonly name: string;
  readonly text: string;
}

export type Run = <Row>(query: Built | Prepared, values?: readonly Bound[]) => Promise<Rows<Row>>;

export interface Connections {
  /** For building queries; they are run here, not by Knex. */
  readonly knex: Knex;
  /** One statement, one round trip, one transaction. */
  readonly run: Run;
  /** READ COMMITTED: each statement sees what has been committed by then. */
  transact<Answer>(work: (run: Run) => Promise<Answer>): Promise<Answer>;
  /** As it is now. */
  line(name: string): DatabaseLine;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly connectionString: string;
  readonly poolSize: number;
  readonly limits: Limits;
  /** Asked while a call takes long, where its own limit is longer than anybody waits for a server that is frozen. */
  readonly isThere?: IsThere | undefined;
}

/** Knex marks a connection so when it must not be handed out again. */
interface Connection extends pg.Client {
  __knex__disposed?: unknown;
  readonly connection: pg.Connection;
}

interface Pool {
  acquireConnection(): Promise<Connection>;
  releaseConnection(connection: Connection): Promise<void>;
  /** Gone once it is closed. */
  readonly pool?: { numUsed(): number; numFree(): number; numPendingAcquires(): number };
}

export function openConnections(options: ConnectionOptions, log: Log): Connections {
  const open = new Set<Connection>();
  const knex = createPool(options, open, log);
  const pool: Pool = knex.client;
  const { isThere } = options;

  async function withConnection<Answer>(work: (connection: Connection) => Promise<Answer>): Promise<Answer> {
    const connection = await acquire(pool);
    try {
      return await (isThere === undefined ? work(connection) : unlessSilent(work(connection), isThere));
    } catch (error) {
      if (losesConnection(error)) discard(connection, error);
      throw error;
    } finally {
      await pool.releaseConnection(connection);
    }
  }

  return {
    knex,
    run: (query, values) => decide(() => withConnection((connection) => send(connection, query, values)), log),
    transact: (work) => decide(() => withConnection((connection) => inTransaction(connection, work)), log),
    line: (name) => ({
      name,
      waiting: pool.pool?.numPendingAcquires() ?? 0,
      connections: {
        used: pool.pool?.numUsed() ?? 0,
        free: pool.pool?.numFree() ?? 0,
        most: options.poolSize,
      },
    }),
    async close() {
      await knex.destroy();
      // A server that is frozen takes no leave, and each would keep this process for as long.
      for (const { connection } of open) connection.stream.destroy();
    },
  };
}

/** @param open is kept to those that there are */
function createPool({ connectionString, poolSize, limits }: ConnectionOptions, open: Set<Connection>, log: Log): Knex {
  return createKnex({
    client: 'pg',
    connection: {
      connectionString,
      application_name: 'mandate',
      types: columnTypes,
      keepAlive: true,
      connectionTimeoutMillis: limits.connect,
      query_timeout: limits.query,
    },
    // What Knex would otherwise ask each server for, in a round trip of its own: the oldest that is supported.
    version: '15',
    acquireConnectionTimeout: limits.acquire,
    pool: {
      min: 0,
      max: poolSize,
      createTimeoutMillis: limits.connect + limits.query,
      destroyTimeoutMillis: LEAVING_LIMIT_MS,
      afterCreate(connection: Connection, done: (error: unknown) => void) {
        open.add(connection);
        connection.once('end', () => open.delete(connection));
        connection.query(sessionSettings(limits), (error) => {
          if (error) discard(connection, error);
          done(error);
        });
      },
    },
    log: knexLog(log),
  });
}

/**
 * Set by statement rather than while connecting, because poolers refuse start-up parameters that they do not know. A
 * database's own default of `synchronous_commit = off` is the one durability setting that would make us tell lies.
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

async function acquire(pool: Pool): Promise<Connection> {
  try {
    return await pool.acquireConnection();
  } catch (error) {
    throw new StorageUnavailable('No connection to Postgres', { cause: error });
  }
}

function discard(connection: Connection, error: unknown): void {
  connection.__knex__disposed = error;
  connection.end().catch(() => {
    // It is gone already.
  });
}

/** Said here, since by its code alone nobody would find out what is wrong, and waiting does not help. */
const SET_BACK_SENTENCE =
  'the sequence ledger_seq was set back below numbers that are taken: nothing is recorded or sealed';

/**
 * Makes a decision again that Postgres is known to have rolled back, and no other: one whose connection was lost may
 * stand, and one that waited for a lock, or for its statement, for as long as it may has kept its client for long enough.
 */
async function decide<Answer>(attempt: () => Promise<Answer>, log: Log): Promise<Answer> {
  const began = performance.now();
  const mayTryAgain = (attempts: number) => attempts < ATTEMPTS && performance.now() - began < RETRYING_LIMIT_MS;
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (isSetBack(error)) log.error(SET_BACK_SENTENCE, error);
      if (!isRolledBack(error) || !mayTryAgain(attempts)) throw asUnavailable(error);
      await pause(randomInt(1, RETRY_PAUSE_MS));
    }
  }
}

async function inTransaction<Answer>(connection: Connection, work: (run: Run) => Promise<Answer>): Promise<Answer> {
  await connection.query('begin isolation level read committed');
  try {
    const answer = await work((query, values) => send(connection, query, values));
    await connection.query('commit');
    return answer;
  } catch (error) {
    if (!losesConnection(error)) await connection.query('rollback');
    throw error;
  }
}

async function send<Row>(connection: Connection, query: Built | Prepared, values: readonly Bound[] = []) {
  const result = await connection.query<Row & pg.QueryResultRow>(describe(query, values));
  return { rows: result.rows, count: result.rowCount ?? 0 };
}

function describe(query: Built | Prepared, values: readonly Bound[]): pg.QueryConfig {
  if ('text' in query) return { name: query.name, text: query.text, values: [...values] };
  const { sql, bindings } = query.toSQL().toNative();
  return { text: sql, values: [...bindings] };
}
