/**
 * Files with private keys. They are written with access only for the owner, never overwrite a file, and their access
 * rights can be checked.
 */

import { open, readFile, stat, unlink } from 'node:fs/promises';
import type { Secret } from '../../domain/secret.ts';

/** Read and write for the owner, no access for others. */
const OWNER_ONLY = 0o600;
const READ_BY_OTHERS = 0o004;
const WRITTEN_BY_GROUP_OR_OTHERS = 0o022;

/** Completes a sentence that begins with the file. */
type KeyFileProblem =
  | 'exists already, and is never overwritten'
  | 'is in a directory that does not exist'
  | 'may not be written by this user'
  | 'may not be read by this user'
  | 'could not be written'
  | 'could not be read';

export class KeyFileUnusable extends Error {
  override readonly name = 'KeyFileUnusable';
  readonly problem: KeyFileProblem;

  constructor(problem: KeyFileProblem, options?: ErrorOptions) {
    super(`The key file ${problem}`, options);
    this.problem = problem;
  }
}

/** The file is durable when the call returns. A partially written file is removed. @throws KeyFileUnusable */
export async function writeKeyFile(path: string, pem: Secret): Promise<void> {
  try {
    // Exclusive: two concurrent commands must not share a file, and an existing symbolic link is not followed.
    const file = await open(path, 'wx', OWNER_ONLY);
    try {
      await file.chmod(OWNER_ONLY);
      await file.writeFile(pem.reveal());
      await file.sync();
    } catch (cause) {
      await unlink(path);
      throw cause;
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new KeyFileUnusable(WRITE_PROBLEMS[codeOf(cause)] ?? 'could not be written', { cause });
  }
}

/** The file's text; `undefined` when there is none. @throws KeyFileUnusable */
export async function readKeyFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOENT') return undefined;
    throw new KeyFileUnusable(code === 'EACCES' ? 'may not be read by this user' : 'could not be read', { cause });
  }
}

/**
 * The access of other users to a key file: whether others may read it, or may replace it. Read access of the group is
 * normal for secrets that are mounted into containers. `undefined` if there is no such file, or on a system without
 * such rights.
 */
export async function exposureOf(path: string): Promise<'none' | 'readable' | 'writable' | undefined> {
  if (process.platform === 'win32') return undefined;
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return undefined;
  if ((found.mode & WRITTEN_BY_GROUP_OR_OTHERS) !== 0) return 'writable';
  return (found.mode & READ_BY_OTHERS) === 0 ? 'none' : 'readable';
}

const WRITE_PROBLEMS: Readonly<Record<string, KeyFileProblem>> = {
  EEXIST: 'exists already, and is never overwritten',
  ENOENT: 'is in a directory that does not exist',
  ENOTDIR: 'is in a directory that does not exist',
  EACCES: 'may not be written by this user',
  EPERM: 'may not be written by this user',
  EROFS: 'may not be written by this user',
};

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
