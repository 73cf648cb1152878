/** Writes, reads and examines private key files. Only the owner may read a new file, which replaces no other. */

import { open, readFile, stat, unlink } from 'node:fs/promises';
import type { Secret } from '../../domain/secret.ts';

/** Read and write for the owner, no access for others. */
const OWNER_ONLY = 0o600;
const READ_BY_OTHERS = 0o004;
const WRITTEN_BY_GROUP_OR_OTHERS = 0o022;

/** The rest of a sentence that begins with the path. */
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

/** Writes a key, and returns once the file is durable. Removes a partially written file. @throws KeyFileUnusable */
export async function writeKeyFile(path: string, pem: Secret): Promise<void> {
  try {
    // `wx`: two concurrent commands must not share a file, and an existing symbolic link is not followed.
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

/** Returns the file's text, or `undefined` if there is no file. @throws KeyFileUnusable */
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
 * Whether other users may read or replace a key file, or the file of a database. Read access for the group is normal for secrets that are mounted
 * into containers. `undefined` if there is no file, or the system has no such permissions.
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
