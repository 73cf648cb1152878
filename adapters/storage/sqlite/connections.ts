/**
 * The one connection to SQLite, Knex's, and the two ways in which it is used: reads, and decisions that write.
 *
 * A decision is a synchronous function. Those that wait together share one BEGIN IMMEDIATE … COMMIT, and are answered
 * only after the commit: the disk is waited for once. When one fails, all are done again, each in a savepoint of its
 * own, so that it takes nothing of the others' with it. Nothing else ever opens a transaction while serving, so that no two can interleave.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import createKnex, { type Knex } from 'knex';
import { StorageUnavailable } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Bound } from '../rows/column.ts';
import { knexLog } from '../rows/knex-log.ts';
import type { Built, Rows } from '../rows/query.ts';
import { bindable } from './column-types.ts';
import { asUnavailable, isBusy } from './errors.ts';
import { keepAlive } from './kept-alive.ts';
import { lane, type Waiting } from './lane.ts';
import { ACQUIRE_LIMIT_MS, BATCH_SIZE, LOCK_PAUSES_MS } from './limits.ts';

export type Run = <Row>(query: Built | string, values?: readonly Bound[]) => Rows<Row>;

/** What a connection may do to its file. */
export type Access = 'read' | 'write';

export interface Connections {
  /** For building queries and for migrations; everything else is run here. */
  readonly knex: Knex;
  read<Answer>(work: (run: Run) => Answer): Promise<Answer>;
  /** One transaction; durable once it is answered. */
  decide<Answer>(work: (run: Run) => Answer): Promise<Answer>;
  close(): Promise<void>;
}

interface Pool {
  acquireConnection(): Promise<Database.Database>;
  releaseConnection(connection: Database.Database): Promise<void>;
}

/** @param access `read` leaves the file as it is, to the byte; decisions are refused then */
export function openConnections(path: string, log: Log, access: Access = 'write'): Connections {
  const knex = createPool(path, log, access);
  const pool: Pool = knex.client;
  const runners = new WeakMap<Database.Database, Run>();

  const runnerOf = (connection: Database.Database): Run => {
    const known = runners.get(connection);
    if (known !== undefined) return known;
    const made = makeRunner(connection);
    runners.set(connection, made);
    return made;
  };

  async function perform(batch: readonly Waiting<Run>[], attempt: typeof readTogether): Promise<void> {
    try {
      await patiently(() => withConnection(pool, (connection) => attempt(connection, runnerOf(connection), batch)));
    } catch (error) {
      for (const { fail } of batch) fail(asUnavailable(error));
    }
  }

  const reads = lane<Run>(BATCH_SIZE, (batch) => perform(batch, readTogether));
  const decisions = lane<Run>(BATCH_SIZE, (batch) => perform(batch, decideTogether));
  return {
    knex,
    read: reads.submit,
    decide: decisions.submit,
    async close() {
      await Promise.all([reads.drained(), decisions.drained()]);
      await knex.destroy();
    },
  };
}

function createPool(path: string, log: Log, access: Access): Knex {
  return createKnex({
    client: 'better-sqlite3',
    connection: { filename: path, options: { readonly: access === 'read' } },
    useNullAsDefault: true,
    acquireConnectionTimeout: ACQUIRE_LIMIT_MS,
    // Always the same one, never closed while idle: a database in memory lives in it.
    pool: {
      min: 1,
      max: 1,
      afterCreate: (connection: Database.Database, done: (error?: unknown) => void) => {
        keepAlive(connection);
        // Write-ahead logging is set once for the file, under a lock that another process may hold: both begin at once.
        patiently(() => configure(connection, path, access)).then(
          () => done(),
          (error: unknown) => {
            connection.close();
            done(error);
          },
        );
      },
    },
    log: knexLog(log),
  });
}

function configure(connection: Database.Database, path: string, access: Access): void {
  // The driver's five seconds would stop the event loop for as long; see LOCK_PAUSES_MS.
  connection.pragma('busy_timeout = 0');
  // A trigger makes SQLite keep a journal of each statement: in a file it costs twice what the statement does.
  connection.pragma('temp_store = memory');
  if (access === 'read') {
    // Setting the journal mode would make a database of an empty file, and write to anybody's.
    connection.pragma('query_only = on');
    return;
  }
  const mode = connection.pragma('journal_mode = wal', { simple: true });
  if (mode !== 'wal' && path !== ':memory:') {
    throw new Error('The SQLite database cannot use write-ahead logging where it lies; move it to a local disk.');
  }
  // With WAL the default is NORMAL, which loses the last commits when the power fails.
  connection.pragma('synchronous = full');
  connection.pragma('foreign_keys = on');
}

/** Tries again for a while when another process holds the lock, letting other requests pass between the attempts. */
async function patiently<Answer>(attempt: () => Answer): Promise<Awaited<Answer>> {
  for (const wait of LOCK_PAUSES_MS) {
    try {
      return await attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      await pause(wait);
    }
  }
  return await attempt();
}

async function withConnection<Answer>(pool: Pool, work: (connection: Database.Database) => Answer): Promise<Answer> {
  let connection: Database.Database;
  try {
    connection = await pool.acquireConnection();
  } catch (error) {
    throw new StorageUnavailable('No connection to SQLite', { cause: error });
  }
  try {
    return work(connection);
  } finally {
    await pool.releaseConnection(connection);
  }
}

/** Each statement is compiled once for the connection. */
function makeRunner(connection: Database.Database): Run {
  const statements = new Map<string, Database.Statement<unknown[]>>();
  const prepare = <Row>(text: string): Database.Statement<unknown[], Row> => {
    const known = statements.get(text);
    if (known !== undefined) return known as Database.Statement<unknown[], Row>;
    const made = connection.prepare<unknown[], Row>(text);
    statements.set(text, made);
    return made;
  };
  return <Row>(query: Built | string, values: readonly unknown[] = []): Rows<Row> => {
    const { sql, bindings } = typeof query === 'string' ? { sql: query, bindings: values } : query.toSQL().toNative();
    const statement = prepare<Row>(sql);
    const bound = bindings.map(bindable);
    if (!statement.reader) return { rows: [], count: statement.run(bound).changes };
    const rows = statement.all(bound);
    return { rows, count: rows.length };
  };
}

function readTogether(_connection: Database.Database, run: Run, batch: readonly Waiting<Run>[]): void {
  const answers = batch.map(({ work, fail }) => {
    try {
      return work(run);
    } catch (error) {
      if (isBusy(error)) throw error;
      return () => fail(asUnavailable(error));
    }
  });
  for (const answer of answers) answer();
}

function decideTogether(connection: Database.Database, run: Run, batch: readonly Waiting<Run>[]): void {
  run('begin immediate');
  try {
    const answers = workThrough(connection, run, batch);
    run('commit');
    for (const answer of answers) answer();
  } catch (error) {
    if (connection.inTransaction) run('rollback');
    throw error;
  }
}

/**
 * Savepoints cost as much as a small decision, so they are set only once one of the batch has failed. One that gave up
 * is not made again: it has kept everybody waiting for long enough.
 */
function workThrough(connection: Database.Database, run: Run, batch: readonly Waiting<Run>[]): readonly (() => void)[] {
  const answers: (() => void)[] = [];
  try {
    for (const { work } of batch) answers.push(work(run));
    return answers;
  } catch (error) {
    if (isBusy(error) || !connection.inTransaction) throw error;
    run('rollback');
    run('begin immediate');
    const gaveUp = error instanceof StorageUnavailable ? answers.length : undefined;
    return batch.map((waiting, nth) =>
      nth === gaveUp ? () => waiting.fail(error) : decideOne(connection, run, waiting),
    );
  }
}

function decideOne(connection: Database.Database, run: Run, { work, fail }: Waiting<Run>): () => void {
  run('savepoint decision');
  try {
    const answer = work(run);
    run('release decision');
    return answer;
  } catch (error) {
    // A full disk or a failing one makes SQLite roll everything back by itself: then nobody's decision stands.
    if (!connection.inTransaction) throw error;
    run('rollback to decision');
    run('release decision');
    return () => fail(asUnavailable(error));
  }
}
