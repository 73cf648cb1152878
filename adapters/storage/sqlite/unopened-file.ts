/** Why a file could not be opened to be served from, as far as the file system knows. */

import { access, constants } from 'node:fs/promises';
import { dirname } from 'node:path';

export type UnopenedFile =
  /** Nor is the directory that it would be in. */
  | 'no_directory'
  /** This user may not write to it, or not to its directory: SQLite keeps its log beside the file. */
  | 'not_writable'
  | 'no_database';

export async function unopenedFile(path: string): Promise<UnopenedFile> {
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
