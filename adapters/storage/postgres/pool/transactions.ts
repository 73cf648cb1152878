/** Runs statements and transactions on the connections of a pool, and retries those that Postgres rolled back. */

import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { DatabaseLine } from '../../../../application/ports/storage.ts';
import type { Log } from '../../../../application/ports/telemetry.ts';
import type { Instant } from '../../../../domain/instant.ts';
import type { RememberedRecord } from '../../ledger-memory.ts';
import type { Bound, Rows } from '../../rows/column.ts';
import { asUnavailable, isRolledBack, isSetBack, losesConnection } from '../errors.ts';
import { isIndexTaken, SETVAL } from '../faults.ts';
import { ATTEMPTS, RETRY_PAUSE_MS, RETRYING_LIMIT_MS } from '../limits.ts';
import { commit, send } from './commits.ts';
import type { ConnectionPool } from './connection-pool.ts';
import { inOnePacket } from './driver.ts';

/** A text of SQL. Each connection parses one with a name once. */
export interface Prepared {
  readonly name: string | undefined;
  readonly text: string;
}

/** A query with the values of its parameters. */
export interface Statement {
  readonly query: Prepared;
  readonly values?: readonly Bound[];
}

export type Run = <Row>(query: Prepared, values?: readonly Bound[]) => Promise<Rows<Row>>;

export interface Connections {
  /**
   * One statement that writes nothing, in its own transaction: one round trip. A statement that writes takes `transact`, which
   * sees how its commit was answered.
   */
  readonly run: Run;
  /** READ COMMITTED: each statement sees all that was committed before it began. */
  transact<Answer>(work: (run: Run) => Promise<Answer>): Promise<Answer>;
  /** A transaction for work that only reads: Postgres refuses its writes. It goes on while commits get no answer. */
  readTogether<Answer>(work: (run: Run) => Promise<Answer>): Promise<Answer>;
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

export type Transactions = Pick<Connections, 'transact'>;

export function transactionsOn(pool: ConnectionPool, committed: Committed, log: Log): Connections {
  const use = <Answer>(purpose: 'read' | 'write', work: (client: pg.PoolClient) => Promise<Answer>) =>
    retryIfRolledBack(() => pool.use(purpose, work), log);
  return {
    run: (query, values) => use('read', (client) => rowsOf(client, query, values)),
    transact: (work) => use('write', (client) => inTransaction(client, BEGIN, work, committed)),
    readTogether: (work) => use('read', (client) => inTransaction(client, BEGIN_READING, work, committed)),
    readThenWrite: (read, write) => use('write', (client) => inTwoRoundTrips(client, read, write, committed)),
    line: pool.line,
    close: pool.close,
  };
}

/** Logged as a sentence, because the error's code alone does not explain what happened. */
const SET_BACK_SENTENCE =
  'the sequence ledger_seq was set back below numbers that are taken: records are refused, and nothing is sealed';

/**
 * Retries an attempt that Postgres is known to have rolled back. An attempt whose connection was lost is not retried: it
 * may have been committed. An attempt that reached a lock or statement limit is not retried either: its client has waited
 * long enough.
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
      if (isSetBack(error)) log.error(SET_BACK_SENTENCE, asUnavailable(error), { remedy: SETVAL });
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
const PLANNING = 'set local enable_seqscan = off; set local jit = off';

export const BEGIN = `begin isolation level read committed;
  ${PLANNING}`;

const BEGIN_READING = `begin isolation level read committed read only; ${PLANNING}`;

/** Called with the newest record of a transaction's last append, once it is committed. */
type Committed = (record: RememberedRecord) => void;

async function inTransaction<Answer>(
  connection: pg.PoolClient,
  begin: string,
  work: (run: Run) => Promise<Answer>,
  committed: Committed,
): Promise<Answer> {
  return orRolledBack(connection, async () => {
    await send(connection, begin);
    let appended: RememberedRecord | undefined;
    const answer = await work(async (query, values) => {
      const rows = await rowsOf<never>(connection, query, values);
      appended = appendedIn(rows.rows) ?? appended;
      return rows;
    });
    await commit(connection);
    if (appended !== undefined) committed(appended);
    return answer;
  });
}

/** What `append_records` tells of its newest record (`../append.ts`). Null if the append was empty. */
interface Appended {
  readonly newest_number?: number | null;
  readonly newest_at?: Instant | null;
  readonly newest_hash?: string | null;
}

/** `undefined` if the statement appended nothing. */
function appendedIn([row = {}]: readonly Appended[]): RememberedRecord | undefined {
  const { newest_number: seq, newest_at: ts, newest_hash: hash } = row;
  return typeof seq === 'number' && typeof ts === 'number' && typeof hash === 'string' ? { seq, ts, hash } : undefined;
}

async function inTwoRoundTrips<Facts, Answer>(
  connection: pg.PoolClient,
  read: (run: Run) => Promise<Facts>,
  write: (send: (statement: Statement) => void, facts: Facts) => Answer,
  committed: Committed,
): Promise<Answer> {
  return orRolledBack(connection, async () => {
    const facts = await pipelined(connection, async (track) => {
      track(send(connection, BEGIN));
      return read((query, values) => track(rowsOf(connection, query, values)));
    });
    const statements: pg.QueryConfig[] = [];
    const answer = write(({ query, values }) => statements.push(describe(query, values)), facts);
    await pipelined(connection, async (track) => {
      const results = statements.map((statement) => track(send(connection, statement)));
      await track(commit(connection));
      for (const { rows } of await Promise.all(results)) {
        const appended = appendedIn(rows);
        if (appended !== undefined) committed(appended);
      }
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
async function pipelined<Answer>(connection: pg.PoolClient, work: (track: Track) => Promise<Answer>): Promise<Answer> {
  const sent: Promise<unknown>[] = [];
  const track: Track = (answered) => {
    // Marks the rejection as handled, and no more: the loop below throws it, or the error of an earlier statement.
    answered.catch(() => undefined);
    sent.push(answered);
    return answered;
  };
  try {
    return await inOnePacket(connection, () => work(track));
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

async function rowsOf<Row>(connection: pg.PoolClient, query: Prepared, values?: readonly Bound[]) {
  const result = await send<Row & pg.QueryResultRow>(connection, describe(query, values));
  return { rows: result.rows, count: result.rowCount ?? 0 };
}

/** The text that each name stands for. */
const prepared = new Map<string, string>();

/**
 * The driver cannot fail to send what this returns, so a commit may follow without waiting: each value is text, a number,
 * a boolean or null, and no name stands for two texts.
 */
function describe({ name, text }: Prepared, values: readonly Bound[] = []): pg.QueryConfig {
  if (name === undefined) return { text, values: [...values] };
  if (!prepared.has(name)) prepared.set(name, text);
  if (prepared.get(name) !== text) throw new Error(`two prepared statements have the name ${name}`);
  return { name, text, values: [...values] };
}
