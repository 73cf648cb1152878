/**
 * Marks a SQLite file as served by this process, and finds out whether another process serves it. Each service holds a
 * shared lock on a small database beside the file. SQLite locks it with the operating system's file locks, which end with
 * the process, also after `kill -9`. A lock on the file itself would not tell a service from an audit command.
 */

import { realpathSync } from 'node:fs';
import { isBusy, whileBusy } from './errors.ts';
import { openHandle } from './handle.ts';
import { createMissing } from './opened-file.ts';

export interface ServingMark {
  readonly othersServe: boolean;
  remove(): void;
}

/** @throws if the small database cannot be written, for example on a full disk */
export async function markServed(path: string): Promise<ServingMark> {
  const beside = `${realpathSync(path)}-serving`;
  createMissing(beside);
  const handle = openHandle(beside, { timeout: 0 });
  try {
    const othersServe = isLocked(() => handle.exec('begin exclusive; commit'));
    // Another service that starts now holds its exclusive lock for a moment.
    await whileBusy(() => {
      if (!handle.inTransaction()) handle.exec('begin');
      handle.exec('select count(*) from sqlite_schema');
    });
    return { othersServe, remove: handle.close };
  } catch (error) {
    handle.close();
    throw error;
  }
}

function isLocked(lock: () => void): boolean {
  try {
    lock();
    return false;
  } catch (error) {
    if (!isBusy(error)) throw error;
    return true;
  }
}
