/**
 * Restarts a database thread that died. This is as safe as a restart of the process: the file holds all commits, SQLite
 * rolls back everything else, and no caller got an answer for that. Without a restart the service could not revoke
 * anything. Until the new thread has opened the file, every call is refused as StorageUnavailable.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import type { Log } from '../../../../application/ports/telemetry.ts';
import type { Client } from './rpc.ts';

type Supervised = Pick<Client, 'methods' | 'call' | 'unanswered' | 'close'>;

interface Supervision {
  readonly log: Log;
  /**
   * Milliseconds from a death to the restart, and between attempts. `undefined` for a database in memory, which is not
   * restarted: an empty database would have lost every revocation.
   */
  readonly restartAfterMs: number | undefined;
}

/** @throws the error with which the first thread failed to open */
export async function supervise(
  start: () => Promise<Client>,
  { log, restartAfterMs }: Supervision,
): Promise<Supervised> {
  const first = await start();
  let current: Client | undefined = first;
  const closing = new AbortController();

  async function watch(): Promise<void> {
    for (let thread: Client | undefined = first; thread !== undefined; thread = await restarted()) {
      current = thread;
      const death = await thread.ended;
      current = undefined;
      if (death === undefined) return;
      log.error('the database thread died; its unanswered calls are refused', death.fault);
    }
  }

  /** Retries until a thread has opened, or `close` is called. */
  async function restarted(): Promise<Client | undefined> {
    if (restartAfterMs === undefined) return undefined;
    for (;;) {
      await pause(restartAfterMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return undefined;
      try {
        const thread = await start();
        if (!closing.signal.aborted) {
          log.info('the database thread was restarted');
          return thread;
        }
        await thread.close();
      } catch (error) {
        log.error('the database thread could not be restarted', error);
      }
    }
  }

  const watching = watch();
  return {
    methods: first.methods,
    async call(method, args, limitMs) {
      if (closing.signal.aborted) throw new StorageUnavailable('The SQLite database is closed');
      if (current === undefined) throw new StorageUnavailable('The database thread has ended');
      return current.call(method, args, limitMs);
    },
    unanswered: () => current?.unanswered() ?? 0,
    async close() {
      closing.abort();
      await current?.close();
      await watching;
    },
  };
}
