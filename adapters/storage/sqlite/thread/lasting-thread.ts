/**
 * A database thread that is started anew when it dies. What it had committed is in the file, what it had not is rolled
 * back by the file's next reader, and nobody was told otherwise: to go on is as safe as after a restart of the process,
 * and a service that stays down cannot revoke either. Until it is open again every call is refused as StorageUnavailable.
 */

import { setTimeout as pause } from 'node:timers/promises';
import { StorageUnavailable } from '../../../../application/ports/storage.ts';
import type { Log } from '../../../../application/ports/telemetry.ts';
import type { DatabaseThread } from './database-thread.ts';

export type LastingThread = Pick<DatabaseThread, 'shape' | 'call' | 'unanswered' | 'close'>;

/**
 * @param restartAfter milliseconds until a thread that died is started anew, and between attempts; `undefined` where its
 * data died with it: an empty database would have forgotten every revocation
 * @throws what kept the first one from opening its database
 */
export async function lastingThread(
  start: () => Promise<DatabaseThread>,
  { log, restartAfter }: { readonly log: Log; readonly restartAfter: number | undefined },
): Promise<LastingThread> {
  const first = await start();
  let current: DatabaseThread | undefined = first;
  const stopping = new AbortController();
  const { signal } = stopping;

  async function keepUp(thread: DatabaseThread): Promise<void> {
    for (let running: DatabaseThread | undefined = thread; running !== undefined; running = await startAnew()) {
      current = running;
      const death = await running.ended;
      current = undefined;
      if (death === undefined) return;
      log.error('the database thread ended: what it had not answered is refused', death.fault);
    }
  }

  /** Tries until it succeeds or is no longer wanted. */
  async function startAnew(): Promise<DatabaseThread | undefined> {
    if (restartAfter === undefined) return undefined;
    for (;;) {
      await pause(restartAfter, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return undefined;
      try {
        const started = await start();
        if (!signal.aborted) {
          log.info('the database thread was started anew');
          return started;
        }
        await started.close();
      } catch (error) {
        log.error('the database thread could not be started anew', error);
      }
    }
  }

  const keeping = keepUp(first);
  return {
    shape: first.shape,
    call: (name, given, limit) =>
      current?.call(name, given, limit) ?? Promise.reject(new StorageUnavailable('The database thread has ended')),
    unanswered: () => current?.unanswered() ?? 0,
    async close() {
      stopping.abort();
      await current?.close();
      await keeping;
    },
  };
}
