/**
 * Whether a path still names the file that was opened. SQLite never looks: after `rm` and `mandate migrate` it would write
 * to the removed file, and every decision would be lost with the process. Imports no SQLite, because the main thread asks
 * too.
 */

import { closeSync, openSync, realpathSync, statSync } from 'node:fs';
import { FILE_CHECK_MS } from './limits.ts';

export interface FileIdentity {
  readonly device: bigint;
  readonly inode: bigint;
}

/** `undefined` if the path names no file, or the file system cannot tell. */
export function fileAt(path: string): FileIdentity | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return { device: dev, inode: ino };
  } catch {
    return undefined;
  }
}

export function isSameFile(one: FileIdentity | undefined, other: FileIdentity | undefined): boolean {
  return one !== undefined && one.device === other?.device && one.inode === other.inode;
}

/** The readiness of a database whose file was replaced or removed. */
export const REPLACED = {
  status: 'Unhealthy',
  detail:
    'Service:Database:Path, or the -wal or -shm beside it, no longer names the file that the service opened. Nothing is decided. Do not restart yet: a restart loses a removed file. See docs/operating.md ("The SQLite file was replaced").',
} as const;

/** SQLite gives the mode of the file to its -wal and -shm. */
const OWNER_ONLY = 0o600;

/** Creates a missing file, readable by its owner only. The mode of a file that exists stays. */
export function createMissing(path: string): void {
  try {
    closeSync(openSync(path, 'wx', OWNER_ONLY));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

export interface OpenedFile {
  readonly identity: FileIdentity | undefined;
  /** Whether the file or its log was replaced or removed since. Looks at most every FILE_CHECK_MS, and stays true. */
  wasReplaced(): boolean;
}

/** The readiness of a database whose file, or its log, something other than SQLite wrote to (`overwritten-file.ts`). */
export const OVERWRITTEN = {
  status: 'Unhealthy',
  detail:
    'Something other than SQLite wrote to the file at Service:Database:Path, or to the -wal beside it: mostly a backup that was copied over it while the service ran. Nothing is decided or answered until a restart. Stop the service, and restore the backup again before the start. See docs/operating.md ("The SQLite file was overwritten").',
} as const;

/**
 * @param path of a database in write-ahead mode that is open, and was read once, so that its log exists
 * @param now milliseconds of a monotonic clock
 * @param earlier the file that an earlier thread opened: it may have been replaced while this one opened it
 */
export function openedFile(path: string, now: () => number, earlier?: FileIdentity): OpenedFile {
  // SQLite puts the log and its index beside the file that a symbolic link names.
  const real = realpathSync(path);
  const file = earlier ?? fileAt(path);
  const beside = [`${real}-wal`, `${real}-shm`].map((name) => ({ name, opened: fileAt(name) }));
  let checkedAt = now();
  let isReplaced = false;

  return {
    identity: file,
    wasReplaced() {
      if (isReplaced || now() - checkedAt < FILE_CHECK_MS) return isReplaced;
      checkedAt = now();
      isReplaced =
        !isSameFile(file, fileAt(path)) || beside.some(({ name, opened }) => !isSameFile(opened, fileAt(name)));
      return isReplaced;
    },
  };
}
