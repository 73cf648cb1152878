/**
 * A pool of connections to Postgres. A call runs one prepared statement, or a transaction.
 *
 * Knex only builds queries. A connection is destroyed when its call reaches its time limit: the call may still commit, and
 * its late answer must not be taken for the answer to the next call.
 */

import { randomInt } from 'node:crypto';
import { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import createKnex, { type Knex } from 'knex';
import pg from 'pg';
import type { DatabaseLine } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Bound, Built, Rows } from '../rows/column.ts';
import { columnTypes } from './column-types.ts';
import { asUnavailable, databaseClosed, isRolledBack, isSetBack, losesConnection, noConnection } from './errors.ts';
import { isIndexTaken } from './faults.ts';
import {
  ATTEMPTS,
  CLOSING_LIMIT_MS,
  IDLE_IN_TRANSACTION_LIMIT_MS,
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

/** A query with the values of its parameters. */
export interface Statement {
  readonly query: Built | Prepared;
  readonly values?: readonly Bound[];
}

export type Run = <Row>(query: Built | Prepared, values?: readonly Bound[]) => Promise<Rows<Row>>;

export interface Connections {
  /** Builds queries; it never connects. */
  readonly knex: Knex;
  /** One statement in its own transaction: one round trip. */
  readonly run: Run;
  /** READ COMMITTED: each statement sees all that was committed before it began. */
  transact<Answer>(work: (run: Run) => Promise<Answer>): Promise<Answer>;
  /**
   * A transaction in two round trips. Postgres runs the statements of each one after another. Connections with `isThere` do
   * not offer this.
   * @param read sends statements that write nothing. They are sent together with `begin`
   * @param write collects the statements that are sent together with the commit. If it throws, none is sent
   */
  readThenWrite<Facts, Answer>(
    read: (run: Run) => Promise<Facts>,
    write: (send: (statement: Statement) => void, facts: Facts) => Answer,
  ): Promise<Answer>;
  /** The pool's state now. */
  line(name: string): DatabaseLine;
  close(): Promise<void>;
}

export interface ConnectionOptions {
  readonly connectionString: string;
  readonly poolSize: number;
  readonly limits: Limits;
  /** Set if the limits are longer than an operator waits for a frozen server. The watchdog then aborts calls earlier. */
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
  const configured = new WeakSet<pg.PoolClient>();

  async function withConnection<Answer>(work: (client: pg.PoolClient) => Promise<Answer>): Promise<Answer> {
    const client = await acquire(pool);
    let fault: unknown;
    const call = async () => {
      if (!configured.has(client)) {
        await client.query(sessionSettings(limits));
        configured.add(client);
      }
      return work(client);
    };
    try {
      return await (isThere === undefined ? call() : unlessSilent(call, isThere));
    } catch (error) {
      fault = error;
      throw error;
    } finally {
      // A failed `begin` or `rollback` can leave a transaction open. The next call must not run inside it.
      const isIdle = client.getTransactionStatus() === 'I';
      client.release(!isIdle || (fault !== undefined && losesConnection(fault)));
    }
  }

  return {
    knex: createKnex({ client: 'pg' }),
    run: (query, values) => retryIfRolledBack(() => withConnection((client) => send(client, query, values)), log),
    transact: (work) => retryIfRolledBack(() => withConnection((client) => inTransaction(client, work)), log),
    readThenWrite: (read, write) =>
      retryIfRolledBack(() => withConnection((client) => inTwoRoundTrips(client, read, write)), log),
    line: (name) => ({
      name,
      waiting: pool.waitingCount,
      connections: { used: pool.totalCount - pool.idleCount, free: pool.idleCount, most: poolSize },
    }),
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

async function acquire(pool: pg.Pool): Promise<pg.PoolClient> {
  if (pool.ending) throw databaseClosed();
  try {
    return await pool.connect();
  } catch (error) {
    throw noConnection(error);
  }
}

/** Logged as a sentence, because the error's code alone does not explain what happened. */
const SET_BACK_SENTENCE =
  'the sequence ledger_seq was set back below numbers that are taken: nothing is recorded or sealed';

/**
 * Retries an attempt that Postgres is known to have rolled back. An attempt whose connection was lost is not retried: it
 * may have been committed. Neither is one that reached a lock or statement limit: its client has waited long enough.
 */
async function retryIfRolledBack<Answer>(attempt: () => Promise<Answer>, log: Log): Promise<Answer> {
  const began = performance.now();
  // An index was taken by another decision that was committed. So each further attempt follows progress elsewhere.
  const mayRetry = (error: unknown, attempts: number) =>
    (attempts < ATTEMPTS || isIndexTaken(error)) && performance.now() - began < RETRYING_LIMIT_MS;
  for (let attempts = 1; ; attempts++) {
    try {
      return await attempt();
    } catch (error) {
      if (isSetBack(error)) log.error(SET_BACK_SENTENCE, asUnavailable(error));
      if (!isRolledBack(error) || !mayRetry(error, attempts)) throw asUnavailable(error);
      await pause(randomInt(1, RETRY_PAUSE_MS));
    }
  }
}

/**
 * PostgreSQL caches the plan of a prepared statement that it made while a table was small (a sequential scan) until the
 * next ANALYZE. Without sequential scans each lookup uses its index. JIT compilation stays off: its cost estimate does not
 * know how many tasks a statement is about.
 */
export const BEGIN = `begin isolation level read committed;
  set local enable_seqscan = off; set local jit = off`;

async function inTransaction<Answer>(connection: pg.PoolClient, work: (run: Run) => Promise<Answer>): Promise<Answer> {
  return orRolledBack(connection, async () => {
    await connection.query(BEGIN);
    const answer = await work((query, values) => send(connection, query, values));
    expectCommitted(await connection.query('commit'));
    return answer;
  });
}

async function inTwoRoundTrips<Facts, Answer>(
  connection: pg.PoolClient,
  read: (run: Run) => Promise<Facts>,
  write: (send: (statement: Statement) => void, facts: Facts) => Answer,
): Promise<Answer> {
  return orRolledBack(connection, async () => {
    const facts = await pipelined(async (track) => {
      track(connection.query(BEGIN));
      return read((query, values) => track(send(connection, query, values)));
    });
    const statements: pg.QueryConfig[] = [];
    const answer = write(({ query, values }) => statements.push(describe(query, values)), facts);
    await pipelined(async (track) => {
      for (const statement of statements) track(connection.query(statement));
      expectCommitted(await track(connection.query('commit')));
    });
    return answer;
  });
}

type Track = <Answered extends Promise<unknown>>(answered: Answered) => Answered;

/**
 * Waits for the answers to all statements that `work` sends, and throws the error of the first that failed. Postgres fails
 * all later ones with 25P02, which does not name the cause.
 * @param work passes each answer to `track`, in the order in which it sends the statements
 */
async function pipelined<Answer>(work: (track: Track) => Promise<Answer>): Promise<Answer> {
  const sent: Promise<unknown>[] = [];
  const track: Track = (answered) => {
    // Only marks the rejection as handled: the loop below throws it, or the error of an earlier statement.
    answered.catch(() => undefined);
    sent.push(answered);
    return answered;
  };
  try {
    return await work(track);
  } finally {
    for (const answered of sent) await answered;
  }
}

async function orRolledBack<Answer>(connection: pg.PoolClient, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (!losesConnection(error)) await connection.query('rollback');
    throw error;
  }
}

/** Postgres answers a commit with ROLLBACK if a statement of the transaction failed. */
function expectCommitted({ command }: pg.QueryResult): void {
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back: the error of a statement was ignored');
}

async function send<Row>(connection: pg.PoolClient, query: Built | Prepared, values?: readonly Bound[]) {
  const result = await connection.query<Row & pg.QueryResultRow>(describe(query, values));
  return { rows: result.rows, count: result.rowCount ?? 0 };
}

/** The text that each name stands for. */
const prepared = new Map<string, string>();

/**
 * The driver cannot fail to send what this returns, so a commit may follow without waiting: each value is text, a number,
 * a boolean or null, and no name stands for two texts.
 */
function describe(query: Built | Prepared, values: readonly Bound[] = []): pg.QueryConfig {
  if ('text' in query) {
    const { name, text } = query;
    if (!prepared.has(name)) prepared.set(name, text);
    if (prepared.get(name) !== text) throw new Error(`two prepared statements have the name ${name}`);
    return { name, text, values: [...values] };
  }
  const { sql, bindings } = query.toSQL().toNative();
  return { text: sql, values: [...bindings] };
}

/** A certificate or key file (`sslrootcert`, `sslcert`, `sslkey`) cannot be read, or there is another fault. */
export type ConnectionStringFault = 'unreadable_file' | 'unusable';

/** @returns `undefined` if the driver accepts the connection string (libpq's form). Does not connect. */
export function connectionStringFault(connectionString: string): ConnectionStringFault | undefined {
  try {
    // The constructor parses the string and reads its files.
    new pg.Client({ connectionString });
    return undefined;
  } catch (error) {
    return error instanceof Error && 'syscall' in error ? 'unreadable_file' : 'unusable';
  }
}
