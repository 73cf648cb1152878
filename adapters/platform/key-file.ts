/** Writes, reads and examines private key files. Only the owner may read a new file, which replaces no other. */

import { randomUUID } from 'node:crypto';
import { open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Secret } from '../../domain/secret.ts';
import { syncFolder } from './sync-folder.ts';

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
  | 'does not exist'
  | 'is mounted by itself, and can only be replaced where it is mounted from'
  | 'has a second name (a hard link), under which the private key would remain'
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
    await writeDurably(path, pem.reveal(), OWNER_ONLY);
  } catch (cause) {
    throw new KeyFileUnusable(WRITE_PROBLEMS[codeOf(cause)] ?? 'could not be written', { cause });
  }
}

/** A public half is no secret. The user of the service reads it, who may not be the user of the command. */
const READABLE = 0o644;

/**
 * Replaces a private key by its public half, by a rename: at every moment the path names a complete key. Follows symbolic
 * links, so that the private key does not remain behind one. Returns once the change is durable. @throws KeyFileUnusable
 */
export async function replaceByPublicHalf(path: string, publicPem: string): Promise<void> {
  try {
    const file = await realpath(path);
    if ((await stat(file)).nlink > 1) {
      throw new KeyFileUnusable('has a second name (a hard link), under which the private key would remain');
    }
    const beside = `${file}.${randomUUID()}`;
    await writeDurably(beside, publicPem, READABLE);
    try {
      await rename(beside, file);
    } catch (cause) {
      await unlink(beside);
      throw cause;
    }
    await syncFolder(dirname(file));
  } catch (cause) {
    if (cause instanceof KeyFileUnusable) throw cause;
    if (codeOf(cause) === 'ENOENT') throw new KeyFileUnusable('does not exist', { cause });
    throw new KeyFileUnusable(WRITE_PROBLEMS[codeOf(cause)] ?? 'could not be written', { cause });
  }
}

/**
 * Removes a partially written file. `wx`: two concurrent commands must not share a file, and an existing symbolic link is
 * not followed.
 */
async function writeDurably(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.chmod(mode);
    await file.writeFile(text);
    await file.sync();
  } catch (cause) {
    await unlink(path);
    throw cause;
  } finally {
    await file.close();
  }
}

/**
 * Returns the text of a PEM file, or `undefined` if there is no file. Text before the key may be in any encoding: the key
 * itself is ASCII (RFC 7468).
 *
 * @throws KeyFileUnusable
 */
export async function readKeyFile(path: string): Promise<string | undefined> {
  return (await readSecretFile(path))?.toString();
}

/** Returns the file's bytes, or `undefined` if there is no file. @throws KeyFileUnusable */
export async function readSecretFile(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOENT') return undefined;
    throw new KeyFileUnusable(code === 'EACCES' ? 'may not be read by this user' : 'could not be read', { cause });
  }
}

/** Returns the same text for all names of one file, links included; `undefined` if the file does not exist. */
export async function fileIdentity(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  return found && `${found.dev}:${found.ino}`;
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
  EBUSY: 'is mounted by itself, and can only be replaced where it is mounted from',
};

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
