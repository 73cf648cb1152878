/** The database thread's only connection to SQLite. Reads run alone, writes share commits (`group-commit.ts`). */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { type DecisionOutcomes, decisionOutcomes } from '../decision-outcomes.ts';
import type { BindInstant, Bound, Rows } from '../rows/column.ts';
import { asUnavailable, faultOf, whileBusy } from './errors.ts';
import { groupCommit } from './group-commit.ts';
import { type Handle, openHandle, type RowForm, type Run } from './handle.ts';
import { logCheckpoints } from './log-checkpoints.ts';
import { createMissing, type FileIdentity, fileAt, isSameFile, type OpenedFile, openedFile } from './opened-file.ts';
import { type OverwrittenFile, overwrittenFile } from './overwritten-file.ts';
import { memoryOfThreads, overwrittenFlag, type RememberedLedger, rememberedLedger } from './remembered-ledger.ts';

/** With `read`, no byte of the file changes, and writes fail. */
export type Access = 'read' | 'write';

export interface SqliteOptions {
  /** The path of the database file, or `:memory:`. */
  readonly path: string;
  /** Whether no byte of the file may change. */
  readonly readOnly?: boolean;
  /** Whether a service opens it, and other services on the same file are to be noticed. */
  readonly isServed?: boolean;
  /** Whether the pages of a file up to CHECKED_AT_ONCE_BYTES are checked first. If one is damaged, it is not opened. */
  readonly pageCheck?: 'if_small';
  /** The file that an earlier thread opened at the path. No other is opened. */
  readonly opened?: FileIdentity | undefined;
  /** What earlier threads saw of the ledger. */
  readonly memory?: SharedArrayBuffer | undefined;
}

export interface Connection {
  read<Answer>(work: (run: Run) => Answer): Promise<Answer>;
  /** Runs `work` in a transaction, and resolves once it is durable. `work` may run twice, but commits once. */
  write<Answer>(work: (run: Run) => Answer): Promise<Answer>;
  /** Runs a script of statements. Called within the `work` of a `write`. */
  script(sql: string): void;
  /** `undefined` for a database in memory, or one that is only read. */
  readonly file: OpenedFile | undefined;
  /** The outcomes of all writes: those of decisions, and of jobs. */
  readonly outcomes: Pick<DecisionOutcomes, 'committedWithin' | 'failing'>;
  /** Whether the database went back in time while it was open. Once true, it stays true. */
  wentBack(): boolean;
  /** Whether something other than SQLite wrote to the file while it was open. Once true, it stays true. */
  wasOverwritten(): boolean;
  close(): Promise<void>;
}

interface ConnectionOptions {
  /** The file that the path must name, if it was opened before. */
  readonly opened?: FileIdentity | undefined;
  /** What earlier threads saw of the ledger. */
  readonly memory?: SharedArrayBuffer | undefined;
  /** Milliseconds of a monotonic clock. */
  readonly now?: () => number;
}

/** @throws StorageUnavailable if the file cannot be opened, or is on a file system without write-ahead logging */
export async function openConnection(
  path: string,
  access: Access = 'write',
  { opened, memory = memoryOfThreads(), now = () => performance.now() }: ConnectionOptions = {},
): Promise<Connection> {
  if (opened !== undefined && !isSameFile(opened, fileAt(path))) throw replaced();
  const handle = await openConfigured(path, access);
  const run = runner(handle);
  const outcomes = decisionOutcomes(now);
  const { file, overwritten, remembered } = access === 'write' && isFile(path) ? await watched() : NOT_WATCHED;
  const checkpoints = logCheckpoints(handle, outcomes.committed, overwritten?.checkpoint);
  const commits = groupCommit(handle, run, {
    atBegin() {
      overwritten?.refuse();
      remembered?.atBegin();
    },
    beforeCommit() {
      if (file?.wasReplaced()) throw replaced();
      remembered?.beforeCommit();
    },
    committed() {
      remembered?.committed();
      overwritten?.committed();
    },
    afterBatch: checkpoints.afterBatch,
    failed: outcomes.failed,
  });
  let isClosed = false;
  let looking: Promise<void> | undefined;

  async function watched(): Promise<Watched> {
    try {
      const opening = openedFile(path, now, opened);
      const ledger = await whileBusy(() => rememberedLedger(run, now, memory));
      const watching = overwrittenFile(path, overwrittenFlag(memory));
      return { file: opening, remembered: ledger, overwritten: watching };
    } catch (error) {
      handle.close();
      throw asUnavailable(error);
    }
  }

  /** Called after each read, before its answer leaves. Reads that came in one message share the look. */
  function looked(): Promise<void> {
    looking ??= Promise.resolve().then(() => {
      looking = undefined;
      overwritten?.refuse();
    });
    return looking;
  }

  const refuseIfClosed = () => {
    if (isClosed) throw new StorageUnavailable('The SQLite database is closed');
  };
  return {
    async read(work) {
      refuseIfClosed();
      try {
        const answer = await whileBusy(() => {
          remembered?.beforeRead();
          return work(run);
        });
        if (overwritten !== undefined) await looked();
        return answer;
      } catch (error) {
        throw asUnavailable(error);
      }
    },
    async write(work) {
      refuseIfClosed();
      return commits.submit(work);
    },
    script: handle.exec,
    file,
    outcomes,
    wentBack: () => remembered?.wentBack() === true,
    wasOverwritten: () => overwritten?.wasOverwritten() === true,
    async close() {
      isClosed = true;
      await commits.drained();
      checkpoints.stop();
      handle.close();
      overwritten?.close();
    },
  };
}

/** What notices that the database is no longer the one that was opened. */
interface Watched {
  readonly file: OpenedFile | undefined;
  readonly overwritten: OverwrittenFile | undefined;
  readonly remembered: RememberedLedger | undefined;
}

/** A database in memory, or one that is only read. */
const NOT_WATCHED: Watched = { file: undefined, overwritten: undefined, remembered: undefined };

function replaced(): StorageUnavailable {
  return new StorageUnavailable('The SQLite file was replaced or removed since it was opened');
}

/** For an empty path SQLite opens a temporary file, which no other process can name. */
function isFile(path: string): boolean {
  return path !== '' && path !== ':memory:';
}

async function openConfigured(path: string, access: Access): Promise<Handle> {
  try {
    if (access === 'write' && isFile(path)) createMissing(path);
    // No busy timeout of the driver (5 s by default): it would block the thread. `whileBusy` retries with pauses instead.
    const handle = openHandle(path, { readonly: access === 'read', timeout: 0 });
    try {
      // Setting write-ahead logging in a new file needs a lock, which another process may hold.
      await whileBusy(() => configure(handle, path, access));
      return handle;
    } catch (error) {
      handle.close();
      throw error;
    }
  } catch (error) {
    throw new StorageUnavailable('SQLite could not be opened', { cause: error, fault: faultOf(error) });
  }
}

function configure(handle: Handle, path: string, access: Access): void {
  // Keeps temporary journals in memory: a trigger makes SQLite write one per statement, which is slow in a file.
  handle.exec('pragma temp_store = memory');
  if (access === 'read') {
    // The journal mode stays as it is: setting it would write to the file.
    handle.exec('pragma query_only = on');
    return;
  }
  const mode = handle.prepare<{ journal_mode: string }>('pragma journal_mode = wal').get()?.journal_mode;
  if (mode !== 'wal' && path !== ':memory:') {
    throw new Error('The SQLite database cannot use write-ahead logging on its file system; move it to a local disk.');
  }
  // With write-ahead logging the default is NORMAL, which loses the last commits in a power failure.
  handle.exec('pragma synchronous = full; pragma foreign_keys = on');
  // By default SQLite leaves deleted text in the free space of its pages. An erased reason must not stay readable there.
  handle.exec('pragma secure_delete = fast');
  // `log-checkpoints.ts` moves the log into the file instead.
  handle.exec('pragma wal_autocheckpoint = 0');
  // The first read creates the log.
  handle.exec('select count(*) from sqlite_schema');
}

function runner(handle: Handle): Run {
  return <Row>(sql: string, values: readonly unknown[] = [], form: RowForm = 'object'): Rows<Row> => {
    const statement = handle.prepare<Row>(sql, form);
    const bound = values.map(bindable);
    if (!statement.reader) return { rows: [], count: statement.run(bound).changes };
    const rows = statement.all(bound);
    return { rows, count: rows.length };
  };
}

/** Converts booleans to numbers, because SQLite has no booleans. */
function bindable(value: unknown): Exclude<Bound, boolean> {
  if (typeof value === 'boolean') return Number(value);
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError('a value is of no type that SQLite stores');
}

/** Instants are stored unchanged, as integers of microseconds. */
export const bindInstant: BindInstant = (instant) => instant;
