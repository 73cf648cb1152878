/** Creates a file. Whatever exists at its path, even a symbolic link, is never overwritten. */

import { open, unlink } from 'node:fs/promises';

/**
 * Returns the end of a sentence that begins with the file, or `undefined` after success. A file that is not written
 * completely is removed.
 */
export async function writeNewFile(path: string, text: string): Promise<string | undefined> {
  try {
    const file = await open(path, 'wx');
    try {
      await file.writeFile(text);
    } catch (cause) {
      await unlink(path);
      throw cause;
    } finally {
      await file.close();
    }
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : '';
    if (code === 'EEXIST') return 'exists already, and is never overwritten';
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'is in a directory that does not exist';
    return 'could not be written';
  }
}
