/**
 * Where tests put databases that need not survive a power failure: a file system in memory, if it has room. There,
 * creating and removing the many files of a Postgres database takes much less CPU time.
 */

import { accessSync, constants, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';

/** A file system in memory on Linux. Containers often limit it to 64 MB. */
const IN_MEMORY = '/dev/shm';
/** The most that Postgres's `max_wal_size` lets accumulate, and the databases of a test run. */
const NEEDED_BYTES = 6 * 1024 ** 3;

export function memoryFolder(): string {
  return hasRoom() ? IN_MEMORY : tmpdir();
}

function hasRoom(): boolean {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return Math.min(bavail * bsize, freemem()) > NEEDED_BYTES;
  } catch {
    return false;
  }
}
