/**
 * Opens the ledger in a SQLite file read-only, for an auditor or `mandate doctor`. It never writes to the file, which may
 * be in use, or may not be a database. SQLite may leave a `-shm` and an empty `-wal` file beside it.
 */

import { access, constants, stat } from 'node:fs/promises';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { StorageCondition } from '../../../application/ports/storage.ts';
import type { LedgerReading } from '../storage.ts';
import type { SqliteOptions } from './connection.ts';
import { isDamage } from './damaged-file.ts';
import { type DriverFault, driverFault } from './driver-fault.ts';
import { ANSWER_LIMIT_MS } from './limits.ts';
import { startDatabaseThread } from './start-thread.ts';
import { readOnlyFault } from './unopened-file.ts';
import type { DatabasePorts } from './worker/main.ts';
import { portsOver } from './worker/ports.ts';

export type LedgerFileProblem =
  /** The path does not exist, or is a directory or a device. */
  | 'missing'
  /** The user of this process may not read the file. */
  | 'not_permitted'
  | 'not_a_database'
  | 'damaged'
  /** SQLite must create an index file beside a file in write-ahead mode, but this process has no permission. */
  | 'folder_not_writable'
  | DriverFault
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
export async function openSqliteLedger(path: string): Promise<LedgerReading> {
  const { ports, close } = await openToRead({ path });
  return { ...ports, schemaStatus: ports.database.schemaStatus, close };
}

/** What only a server can tell. */
const UNKNOWN_WRITING = {
  isStandby: false,
  lockHolders: [],
  awaitingStandby: 0,
  standbys: { needed: 0, connected: 0 },
  damage: undefined,
} as const;

/** Opens the file for `mandate doctor`. @throws LedgerFileUnusable */
export async function openSqliteCondition(path: string): Promise<StorageCondition> {
  const { ports, close } = await openToRead({ path, pageCheck: 'if_small' });
  return {
    ...ports,
    ...ports.condition,
    link: async () => undefined,
    // SQLite uses the clock of this machine, so there is nothing to compare.
    now: async () => undefined,
    role: async () => undefined,
    months: async () => undefined,
    async writing() {
      const fault = await readOnlyFault(path);
      return fault && { ...UNKNOWN_WRITING, fault };
    },
    failover: async () => undefined,
    close,
  };
}

async function openToRead(
  options: Pick<SqliteOptions, 'path' | 'pageCheck'>,
): Promise<{ readonly ports: DatabasePorts; close(): Promise<void> }> {
  await refuseUnreadable(options.path);
  try {
    const { methods, call, close } = await startDatabaseThread({ ...options, readOnly: true });
    return { ports: portsOver<DatabasePorts>(methods, call, ANSWER_LIMIT_MS), close };
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

/** The codes with which SQLite refuses a readable file if it cannot create files beside it. */
const BESIDE = /^SQLITE_(CANTOPEN|READONLY)(_|$)/;

function problemOf(error: unknown): LedgerFileProblem {
  const cause = error instanceof StorageUnavailable ? error.cause : error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (code === 'SQLITE_NOTADB') return 'not_a_database';
  if (isDamage(error)) return 'damaged';
  const fault = driverFault(error);
  if (fault !== undefined) return fault;
  return BESIDE.test(code) ? 'folder_not_writable' : 'failed';
}
