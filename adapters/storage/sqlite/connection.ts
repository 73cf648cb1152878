/** The one connection to SQLite: reads, and writes that share commits. Lives in the database thread. */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { BindInstant, Bound, Built, Rows } from '../rows/column.ts';
import { asUnavailable, whileBusy } from './errors.ts';
import { groupCommit } from './group-commit.ts';
import { type Handle, openHandle, type RowForm, type Run } from './handle.ts';
import { logCheckpoints } from './log-checkpoints.ts';

/** With `read`, the file stays unchanged, to the byte, and writes fail. */
export type Access = 'read' | 'write';

export interface SqliteOptions {
  /** The path of the database file, or `:memory:`. */
  readonly path: string;
  /** Whether the file must stay unchanged, to the byte. */
  readonly readOnly?: boolean;
}

export interface Connection {
  read<Answer>(work: (run: Run) => Answer): Promise<Answer>;
  /** One transaction, durable once it is answered. `work` may run twice; only one run is committed. */
  write<Answer>(work: (run: Run) => Answer): Promise<Answer>;
  /** Runs a script within the `work` of a `write`. */
  script(sql: string): void;
  close(): Promise<void>;
}

/** @throws StorageUnavailable if the file cannot be opened, or is on a file system without write-ahead logging */
export async function openConnection(path: string, access: Access = 'write'): Promise<Connection> {
  const handle = await openConfigured(path, access);
  const run = runner(handle);
  const checkpoints = logCheckpoints(handle);
  const commits = groupCommit(handle, run, checkpoints.afterBatch);
  let isClosed = false;

  const refuseIfClosed = () => {
    if (isClosed) throw new StorageUnavailable('The SQLite database is closed');
  };
  return {
    async read(work) {
      refuseIfClosed();
      try {
        return await whileBusy(() => work(run));
      } catch (error) {
        throw asUnavailable(error);
      }
    },
    async write(work) {
      refuseIfClosed();
      return commits.submit(work);
    },
    script: handle.exec,
    async close() {
      isClosed = true;
      await commits.drained();
      checkpoints.stop();
      handle.close();
    },
  };
}

async function openConfigured(path: string, access: Access): Promise<Handle> {
  try {
    // Without the driver's busy timeout of 5 s, in which SQLite would block the thread; see LOCK_PAUSES_MS.
    const handle = openHandle(path, { readonly: access === 'read', timeout: 0 });
    try {
      // Another process may hold the lock under which write-ahead logging is set in a new file.
      await whileBusy(() => configure(handle, path, access));
      return handle;
    } catch (error) {
      handle.close();
      throw error;
    }
  } catch (error) {
    throw new StorageUnavailable('SQLite could not be opened', { cause: error });
  }
}

function configure(handle: Handle, path: string, access: Access): void {
  // A trigger makes SQLite keep a journal of each statement. In a file it costs twice as much as the statement.
  handle.exec('pragma temp_store = memory');
  if (access === 'read') {
    // The journal mode is not set: that writes to the file.
    handle.exec('pragma query_only = on');
    return;
  }
  const mode = handle.prepare<{ journal_mode: string }>('pragma journal_mode = wal').get()?.journal_mode;
  if (mode !== 'wal' && path !== ':memory:') {
    throw new Error('The SQLite database cannot use write-ahead logging on its file system; move it to a local disk.');
  }
  // With WAL the default is NORMAL, which loses the last commits when the power fails.
  handle.exec('pragma synchronous = full; pragma foreign_keys = on');
  // `log-checkpoints.ts` decides when.
  handle.exec('pragma wal_autocheckpoint = 0');
}

function runner(handle: Handle): Run {
  return <Row>(query: Built | string, values: readonly unknown[] = [], form: RowForm = 'object'): Rows<Row> => {
    const { sql, bindings } = typeof query === 'string' ? { sql: query, bindings: values } : query.toSQL().toNative();
    const statement = handle.prepare<Row>(sql, form);
    const bound = bindings.map(bindable);
    if (!statement.reader) return { rows: [], count: statement.run(bound).changes };
    const rows = statement.all(bound);
    return { rows, count: rows.length };
  };
}

/** SQLite has no booleans. */
function bindable(value: unknown): Exclude<Bound, boolean> {
  if (typeof value === 'boolean') return Number(value);
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError('a value is of no type that SQLite stores');
}

/** Instants are stored as they are: integers, microseconds. */
export const bindInstant: BindInstant = (instant) => instant;
