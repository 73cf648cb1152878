/**
 * Which of the driver's errors mean that SQLite could not take a decision. Everything else (a constraint, a syntax
 * error) is a bug of ours and is thrown as it came.
 */

import Database from 'better-sqlite3';
import { StorageUnavailable } from '../../../application/ports/storage.ts';

/** Primary result codes; an extended one begins with its primary. */
const UNAVAILABLE = new RegExp(
  `^SQLITE_(${[
    'BUSY', // another process writes
    'LOCKED',
    'PROTOCOL', // the locking protocol gave up
    'READONLY',
    'IOERR',
    'FULL',
    'CANTOPEN',
    'CORRUPT',
    'NOTADB',
    'NOMEM',
  ].join('|')})(_|$)`,
);

export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_BUSY(_|$)/.test(error.code);
}

export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError) || !UNAVAILABLE.test(error.code)) return error;
  return new StorageUnavailable('SQLite could not take it', { cause: error });
}
