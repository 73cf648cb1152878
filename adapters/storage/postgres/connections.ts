/**
 * Knex's pool of connections to Postgres, and the two ways in which they are used: one prepared round trip for a
 * decision, or a short transaction of built queries for what is rare.
 *
 * Knex builds queries and owns the connections; we run them, because only so a connection whose call timed out can be
 * destroyed. Such a call may still commit, and its answer must not be taken for the next one's.
 */

import { randomInt } from 'node:crypto';
import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import createKnex, { type Knex } from 'knex';
import pg from 'pg';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { DatabaseLine } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Bound, Built, Rows } from '../rows/column.ts';
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
import { type IsThere, unlessSilent } from './watchdog.ts';

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

export function openConnections(
  { connectionString, poolSize, limits, isThere }: ConnectionOptions,
  log: Log,
): Connections {
  const sockets = new Set<Socket>();
  const pool = new pg.Pool({
    connectionString,
    application_name: 'mandate',
    types: columnTypes,
    keepAlive: true,
    max: poolSize,
    connectionTimeoutMillis: limits.acquire,
    query_timeout: limits.query,
    stream: () => {
      const socket = new Socket();
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
      return socket;
    },
  });
  const lost = (error: Error) => log.warn('database connection', { detail: error.message });
  pool.on('error', lost);
  pool.on('connect', (client) => {
    // The pool listens only while the connection is idle; a query in progress fails with the same error.
    client.on('error', () => undefined);
    // Queries of a client run in order, so this one runs before that of the request. It fails only with the connection.
    client.query(sessionSettings(limits)).catch(lost);
  });

  async function withConnection<Answer>(work: (client: pg.PoolClient) => Promise<Answer>): Promise<Answer> {
    const client = await acquire(pool);
    let fault: unknown;
    try {
      return await (isThere === undefined ? work(client) : unlessSilent(work(client), isThere));
    } catch (error) {
      fault = error;
      throw error;
    } finally {
      client.release(fault !== undefined && losesConnection(fault));
    }
  }

  return {
    knex: createKnex({ client: 'pg' }),
    run: (query, values) => decide(() => withConnection((client) => send(client, query, values)), log),
    transact: (work) => decide(() => withConnection((client) => inTransaction(client, work)), log),
    line: (name) => ({
      name,
      waiting: pool.waitingCount,
      connections: { used: pool.totalCount - pool.idleCount, free: pool.idleCount, most: poolSize },
    }),
    async close() {
      await pool.end();
      // A frozen server never closes its end, and each socket would keep the process alive.
      for (const socket of sockets) if (!(await closed(socket))) socket.destroy();
    },
  };
}

/** Whether the socket closes within LEAVING_LIMIT_MS. */
function closed(socket: Socket): Promise<boolean> {
  if (socket.closed) return Promise.resolve(true);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), LEAVING_LIMIT_MS);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(true);
    });
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

async function acquire(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (error) {
    throw new StorageUnavailable('No connection to Postgres', { cause: error });
  }
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

/**
 * PostgreSQL keeps the plan of a prepared statement that it made while a table was small, and then reads the whole table
 * until the next ANALYZE. Without sequential scans each lookup uses its index. Nothing is compiled (jit), whatever a
 * statement seems to cost: the number of tasks that it is about cannot be known.
 */
export const BEGIN = `begin isolation level read committed;
  set local enable_seqscan = off; set local jit = off`;

async function inTransaction<Answer>(connection: pg.PoolClient, work: (run: Run) => Promise<Answer>): Promise<Answer> {
  await connection.query(BEGIN);
  try {
    const answer = await work((query, values) => send(connection, query, values));
    await connection.query('commit');
    return answer;
  } catch (error) {
    if (!losesConnection(error)) await connection.query('rollback');
    throw error;
  }
}

async function send<Row>(connection: pg.PoolClient, query: Built | Prepared, values: readonly Bound[] = []) {
  const result = await connection.query<Row & pg.QueryResultRow>(describe(query, values));
  return { rows: result.rows, count: result.rowCount ?? 0 };
}

function describe(query: Built | Prepared, values: readonly Bound[]): pg.QueryConfig {
  if ('text' in query) return { name: query.name, text: query.text, values: [...values] };
  const { sql, bindings } = query.toSQL().toNative();
  return { text: sql, values: [...bindings] };
}

/** What the driver makes of a connection string (libpq's form) before it connects to anything. */

/** A file of certificates or keys that it names (`sslrootcert`, `sslcert`, `sslkey`), or something else of it. */
export type ConnectionStringFault = 'unreadable_file' | 'unusable';

/** @returns `undefined` where the driver could connect with it, whether or not somebody is there */
export function connectionStringFault(connectionString: string): ConnectionStringFault | undefined {
  try {
    // It is read, and the files are, whenever a client is made; a client that is not told to does not connect.
    new pg.Client({ connectionString });
    return undefined;
  } catch (error) {
    return error instanceof Error && 'syscall' in error ? 'unreadable_file' : 'unusable';
  }
}
