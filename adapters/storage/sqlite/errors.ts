/**
 * Which errors of the driver mean that SQLite could not run a decision. Any other error (a constraint, a syntax
 * error) is a bug of ours and is thrown unchanged.
 */

import { setTimeout as pause } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { LOCK_PAUSES_MS } from './limits.ts';

/** Primary result codes. An extended code begins with its primary code. */
const UNAVAILABLE = new RegExp(
  `^SQLITE_(${[
    'BUSY', // another process writes
    'LOCKED',
    'PROTOCOL', // the locking protocol gave up
    'READONLY',
    'IOERR',
    'FULL',
    'CANTOPEN',
    'CORRUPT',
    'NOTADB',
    'NOMEM',
  ].join('|')})(_|$)`,
);

export function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && /^SQLITE_BUSY(_|$)/.test(error.code);
}

export function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError) || !UNAVAILABLE.test(error.code)) return error;
  return new StorageUnavailable('SQLite could not take it', { cause: error });
}

/** Retries with pauses while another process holds the lock; other requests are served in the pauses. */
export async function whileBusy<Answer>(attempt: () => Answer): Promise<Answer> {
  for (const wait of LOCK_PAUSES_MS) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      await pause(wait);
    }
  }
  return attempt();
}

/** Whether SQLite itself could not be loaded: better-sqlite3 is machine code, built for one version of Node. */

export type AddonFault = 'addon_of_another_node' | 'addon_not_loaded';

/** @param error as opening a database threw it; its causes are looked at too */
export function addonFault(error: unknown): AddonFault | undefined {
  if (!(error instanceof Error)) return undefined;
  // Node's message for an addon (process.dlopen) of another version, which has no separate code.
  if ('code' in error && error.code === 'ERR_DLOPEN_FAILED') {
    return error.message.includes('NODE_MODULE_VERSION') ? 'addon_of_another_node' : 'addon_not_loaded';
  }
  // The message of the package `bindings` if the addon was not built.
  if (error.message.startsWith('Could not locate the bindings file')) return 'addon_not_loaded';
  return addonFault(error.cause);
}
