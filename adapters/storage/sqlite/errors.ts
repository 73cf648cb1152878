/**
 * Classifies errors of the driver: which errors mean that SQLite could not run a decision? Any other error (a constraint,
 * a syntax error) is a bug of Mandate, and is thrown unchanged.
 */

import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { type DatabaseFault, StorageUnavailable } from '../../../application/ports/decisions.ts';
import { LOCK_PAUSES_MS } from './limits.ts';

type Words = Pick<DatabaseFault, 'meaning' | 'act'>;

const LOCKED: Words = {
  meaning: 'another process holds the write lock of the SQLite file',
  act: 'A file is meant for one process: end the other.',
};
const UNREADABLE: Words = {
  meaning: 'the SQLite file is damaged, or is no database',
  act: 'See docs/operating.md ("The SQLite file was replaced, or its disk is full").',
};

/** The key is the primary result code without `SQLITE_`. An extended code begins with its primary code. */
const FAULTS: Readonly<Record<string, Words>> = {
  BUSY: LOCKED,
  LOCKED,
  PROTOCOL: LOCKED,
  READONLY: {
    meaning: 'the SQLite file is read-only',
    act: 'See the rights of the file and its directory, and how its file system is mounted.',
  },
  IOERR: { meaning: "the SQLite file's disk failed", act: 'See the log of the operating system.' },
  FULL: {
    meaning: "the SQLite file's disk is full",
    act: 'Make room. The service then goes on by itself.',
  },
  CANTOPEN: { meaning: 'the SQLite file could not be opened', act: 'See the rights of the file and its directory.' },
  CORRUPT: UNREADABLE,
  NOTADB: UNREADABLE,
  NOMEM: { meaning: 'the process has no memory left', act: 'See what takes the memory of this machine.' },
};

export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_BUSY(_|$)/.test(error.code);
}

/** Result codes that mean that the disk is full or fails, or that the file is read-only. Then no decision can be written. */
const UNWRITABLE = /^SQLITE_(FULL|IOERR|READONLY)(_|$)/;

export function isUnwritable(error: unknown): boolean {
  return error instanceof Database.SqliteError && UNWRITABLE.test(error.code);
}

/** The constraint of `schema.sql` on the number of a record, which a sequence set too far breaks. */
const NUMBER_CHECK = /^CHECK constraint failed: ledger_number/;

/** `undefined` if the error is a bug of Mandate. */
export function faultOf(error: unknown): DatabaseFault | undefined {
  if (!(error instanceof Database.SqliteError)) return undefined;
  const { code, message } = error;
  if (NUMBER_CHECK.test(message)) {
    return {
      code,
      meaning: 'the number of the next record is beyond 2^53 - 1',
      act: 'See docs/operating.md ("The ledger is not intact").',
    };
  }
  const words = FAULTS[code.split('_')[1] ?? ''];
  return words && { code, ...words };
}

export function asUnavailable(error: unknown): unknown {
  const fault = faultOf(error);
  return fault === undefined
    ? error
    : new StorageUnavailable('SQLite could not answer or write', { cause: error, fault });
}

/** Retries with pauses while another process holds the lock. During the pauses the thread serves other requests. */
export async function whileBusy<Answer>(attempt: () => Answer): Promise<Answer> {
  for (const wait of LOCK_PAUSES_MS) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      await pause(wait);
    }
  }
  return attempt();
}
