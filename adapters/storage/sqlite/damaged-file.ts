/**
 * Whether SQLite found damage in its file. The usual cause: a backup was copied over the file, and the `-wal` of the former
 * one was left beside it. SQLite then replays that log over the backup. Imports no SQLite, because the main thread asks too.
 */

import { statSync } from 'node:fs';
import { CHECKED_AT_ONCE_BYTES } from './limits.ts';

/** The code of SQLite's own error, with which a damaged page is read. */
const CODE = 'SQLITE_CORRUPT';

/** An error like the one with which SQLite reads a damaged page. */
export function damage(): Error {
  return Object.assign(new Error('quick_check found damage in the SQLite file'), { code: CODE });
}

/** @param error the error of opening a database. Its causes are searched too */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && String(error.code).startsWith(CODE)) return true;
  return isDamage(error.cause);
}

/** The readiness of a service whose large file was found damaged after the start. */
export const DAMAGED = {
  status: 'Unhealthy',
  detail:
    'The file at Service:Database:Path is damaged. Nothing is decided. The likely cause is the -wal of another file, left beside a restored one. Stop the service, remove the -wal and -shm beside the file, and restore the backup again. See docs/operating.md ("The SQLite file is damaged").',
} as const;

export function isLarge(path: string): boolean {
  const sizes = [path, `${path}-wal`].map((file) => statSync(file, { throwIfNoEntry: false })?.size ?? 0);
  return sizes.reduce((sum, size) => sum + size, 0) > CHECKED_AT_ONCE_BYTES;
}
