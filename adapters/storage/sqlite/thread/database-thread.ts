/**
 * A thread that a database lives in, seen from the main one. A call is answered, or refused as StorageUnavailable: when
 * the thread has died, or has left it unanswered for too long. Whether a decision was applied is then unknown.
 */

import type { Worker } from 'node:worker_threads';
import { StorageUnavailable } from '../../../../application/ports/storage.ts';
import type { Log } from '../../../../application/ports/telemetry.ts';
import { restoreError } from './carried-error.ts';
import { gathered } from './gathered.ts';
import type { FromDatabase, ToDatabase } from './messages.ts';
import type { Shape } from './remote.ts';

export interface DatabaseThread {
  /** Of what it serves. */
  readonly shape: Shape;
  /** @param limit milliseconds until the call is refused */
  call(name: string, given: readonly unknown[], limit: number): Promise<unknown>;
  /** Calls that wait for their answers now. */
  unanswered(): number;
  /** Resolves once what is under way is answered and the thread has ended. */
  close(): Promise<void>;
  /** Resolves when the thread has ended: with what it died of, unless it was closed. */
  readonly ended: Promise<{ readonly fault: unknown } | undefined>;
}

interface Waiting {
  readonly deadline: number;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

/** How often it is looked for calls that have waited too long: these limits need not be exact. */
const WATCH_MS = 500;

/** @throws what kept the thread from opening its database */
export function startThread(worker: Worker, log: Log): Promise<DatabaseThread> {
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let state: 'running' | 'closing' | 'ended' = 'running';
  let fault: unknown;

  const take = (id: number): Waiting | undefined => {
    const taken = waiting.get(id);
    waiting.delete(id);
    return taken;
  };
  // What the requests of one turn of the event loop ask for.
  const send = gathered<ToDatabase>(
    (items) => worker.postMessage(items),
    setImmediate,
    (item, error) => {
      if (item.kind === 'call') take(item.id)?.reject(error);
    },
  );

  const call: DatabaseThread['call'] = (name, given, limit) =>
    new Promise((resolve, reject) => {
      if (state !== 'running') throw new StorageUnavailable('The database thread has ended');
      lastId += 1;
      waiting.set(lastId, { deadline: performance.now() + limit, resolve, reject });
      send({ kind: 'call', id: lastId, name, given });
    });

  const watch = setInterval(() => {
    const now = performance.now();
    for (const [id, { deadline, reject }] of waiting) {
      if (deadline > now) continue;
      waiting.delete(id);
      reject(new StorageUnavailable('The database thread did not answer in time'));
    }
  }, WATCH_MS).unref();

  worker.on('error', (error) => {
    fault = error;
  });
  const ended: DatabaseThread['ended'] = new Promise((resolve) => {
    worker.once('exit', () => {
      const death = state === 'closing' ? undefined : { fault };
      state = 'ended';
      clearInterval(watch);
      for (const { reject } of waiting.values()) {
        reject(new StorageUnavailable('The database thread ended', { cause: fault }));
      }
      waiting.clear();
      resolve(death);
    });
  });

  async function close(): Promise<void> {
    if (state === 'running') {
      send({ kind: 'close' });
      state = 'closing';
    }
    await ended;
  }

  return new Promise((resolve, reject) => {
    const receive = (item: FromDatabase): void => {
      if (item.kind === 'done') take(item.id)?.resolve(item.answer);
      else if (item.kind === 'failed') take(item.id)?.reject(restoreError(item.error));
      else if (item.kind === 'logged') writeLine(log, item);
      else if (item.kind === 'opened')
        resolve({ shape: item.shape, call, unanswered: () => waiting.size, close, ended });
      else reject(restoreError(item.error));
    };
    worker.on('message', (items: readonly FromDatabase[]) => items.forEach(receive));
    void ended.then(() => reject(fault ?? new StorageUnavailable('The database thread ended before it was open')));
  });
}

function writeLine(log: Log, { level, message, fields, cause }: Extract<FromDatabase, { kind: 'logged' }>): void {
  if (level === 'error') log.error(message, cause && restoreError(cause), fields);
  else log[level](message, fields);
}
