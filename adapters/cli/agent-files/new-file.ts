/** A file that was not there before: what stands at its path, be it a link to somewhere else, is never overwritten. */

import { open, unlink } from 'node:fs/promises';

/** Completes a sentence that begins with the file; `undefined` once it is written. Nothing stays of one that is not. */
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
    if (code === 'EEXIST') return 'is there already, and is never overwritten';
    if (code === 'ENOENT' || code === 'ENOTDIR') return 'is in a directory that is not there';
    return 'could not be written';
  }
}
