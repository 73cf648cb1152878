/**
 * Classifies errors of the driver: which errors mean that SQLite could not run a decision? Any other error (a constraint,
 * a syntax error) is a bug of Mandate, and is thrown unchanged.
 */

import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { LOCK_PAUSES_MS } from './limits.ts';

/** Primary result codes. An extended code begins with its primary code. */
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

/** Result codes that mean that the disk is full or fails, or that the file is read-only. Then no decision can be written. */
const UNWRITABLE = /^SQLITE_(FULL|IOERR|READONLY)(_|$)/;

export function isUnwritable(error: unknown): boolean {
  return error instanceof Database.SqliteError && UNWRITABLE.test(error.code);
}

/** The constraint of `schema.sql` on the number of a record, which a sequence set too far breaks. */
const NUMBER_CHECK = /^CHECK constraint failed: ledger_number/;

export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error;
  if (!UNAVAILABLE.test(error.code) && !NUMBER_CHECK.test(error.message)) return error;
  return new StorageUnavailable('SQLite could not answer or write', { cause: error });
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
