/** Finds out from the file system why a database file could not be opened for writing. */

import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';
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

function may(path: string, mode: number): Promise<boolean> {
  return access(path, mode).then(
    () => true,
    () => false,
  );
}
