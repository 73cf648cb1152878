/**
 * Opens the ledger in a SQLite file for somebody who only looks at it, as an auditor does: nothing is written to the
 * file, whatever it turns out to be, and it may be in use. SQLite may leave a `-shm` and an empty `-wal` beside it.
 */

import { access, constants, stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { StorageCondition } from '../../../application/ports/storage.ts';
import { StorageUnavailable } from '../../../application/ports/storage.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { LedgerReading } from '../storage.ts';
import { type AddonFault, addonFault } from './addon-fault.ts';
import { ANSWER_LIMIT_MS } from './limits.ts';
import { BEGINNING, type SqliteOptions } from './open.ts';
import type { Served } from './served.ts';
import { startThread } from './thread/database-thread.ts';
import { type Remote, remote } from './thread/remote.ts';

export type LedgerFileProblem =
  /** There is none, or it is a directory or a device. */
  | 'missing'
  /** This user may not read it. */
  | 'not_permitted'
  | 'not_a_database'
  /** Of a file in write-ahead mode SQLite keeps an index beside it, also to read it. */
  | 'folder_not_writable'
  | AddonFault
  | 'failed';

export class LedgerFileUnusable extends Error {
  override readonly name = 'LedgerFileUnusable';
  readonly problem: LedgerFileProblem;

  constructor(problem: LedgerFileProblem, options?: ErrorOptions) {
    super(`The file of the ledger cannot be read: ${problem}`, options);
    this.problem = problem;
  }
}

/** @throws LedgerFileUnusable */
export async function openSqliteLedger(path: string, log: Log): Promise<LedgerReading> {
  const { served, close } = await openToRead(path, log);
  return { checkpoints: served.ports.checkpoints, schemaStatus: served.schema.status, close };
}

/** The same for whoever looks at its condition. @throws LedgerFileUnusable */
export async function openSqliteCondition(path: string, log: Log): Promise<StorageCondition> {
  const { served, close } = await openToRead(path, log);
  return { ...served.condition, close };
}

async function openToRead(
  path: string,
  log: Log,
): Promise<{ readonly served: Remote<Served>; readonly close: () => Promise<void> }> {
  await refuseUnreadable(path);
  const options: SqliteOptions = { path, readOnly: true };
  try {
    const thread = await startThread(new Worker(BEGINNING, { workerData: options }), log);
    const served = remote<Served>(thread.shape, (name, given) => thread.call(name, given, ANSWER_LIMIT_MS));
    return { served, close: thread.close };
  } catch (error) {
    throw new LedgerFileUnusable(problemOf(error), { cause: error });
  }
}

async function refuseUnreadable(path: string): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  if (found?.isFile() !== true) throw new LedgerFileUnusable('missing');
  try {
    await access(path, constants.R_OK);
  } catch (cause) {
    throw new LedgerFileUnusable('not_permitted', { cause });
  }
}

/** What SQLite says of a file that it could read, but for what belongs beside it. */
const BESIDE = /^SQLITE_(CANTOPEN|READONLY)(_|$)/;

function problemOf(error: unknown): LedgerFileProblem {
  const cause = error instanceof StorageUnavailable ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'SQLITE_NOTADB') return 'not_a_database';
  const fault = addonFault(error);
  if (fault !== undefined) return fault;
  return BESIDE.test(code) ? 'folder_not_writable' : 'failed';
}
