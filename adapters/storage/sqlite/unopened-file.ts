/** Finds out from the file system why a database file could not be opened for writing. */

import { access, constants, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { DatabaseFault } from '../../../application/ports/decisions.ts';
import { isDamage } from './damaged-file.ts';

export type UnopenedFile =
  /** The file's directory does not exist. */
  | 'no_directory'
  /** The user of this process may not write to the file, or to its directory, where SQLite keeps its log. */
  | 'not_writable'
  | 'damaged'
  | 'no_database';

/** @param error the error of opening it */
export async function unopenedFile(path: string, error: unknown): Promise<UnopenedFile> {
  if (isDamage(error)) return 'damaged';
  const directory = dirname(path);
  if (!(await may(directory, constants.F_OK))) return 'no_directory';
  const isThere = await may(path, constants.F_OK);
  const mayWrite = (await may(directory, constants.W_OK)) && (!isThere || (await may(path, constants.W_OK)));
  return mayWrite ? 'no_database' : 'not_writable';
}

const WRITTEN_BY_OWNER = 0o200;

/** Reads the modes, since the command may run as another user than the service. SQLite gave its -wal and -shm the file's. */
export async function readOnlyFault(path: string): Promise<DatabaseFault | undefined> {
  const files = [path, `${path}-wal`, `${path}-shm`];
  const modes = await Promise.all(
    files.map((file) =>
      stat(file).then(
        ({ mode }) => mode,
        () => WRITTEN_BY_OWNER,
      ),
    ),
  );
  const readOnly = files.filter((_, nth) => ((modes[nth] ?? 0) & WRITTEN_BY_OWNER) === 0);
  if (readOnly.length === 0) return undefined;
  return {
    code: 'SQLITE_READONLY',
    meaning: `the owner may not write to ${readOnly.map((file) => basename(file)).join(', ')}: read-only by mode`,
    act: 'Set the mode of the file, its -wal and its -shm: chmod 600.',
  };
}

function may(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
