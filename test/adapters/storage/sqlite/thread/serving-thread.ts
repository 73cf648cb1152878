/** A thread that serves no database but every way in which a call can go; the tests beside it start it. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { serveCalls } from '../../../../../adapters/storage/sqlite/thread/serve-calls.ts';
import { StorageUnavailable } from '../../../../../application/ports/storage.ts';
import type { Log } from '../../../../../application/ports/telemetry.ts';

function serving(log: Log) {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    name: 'serving thread',
    answers: {
      echo: async (...given: readonly unknown[]) => given,
      held: async (what: string) => {
        await held;
        return what;
      },
      release: async () => release(),
      never: () => new Promise<string>(() => undefined),
      unsendable: async (): Promise<unknown> => () => 'a function stays where it is',
    },
    faults: {
      away: async () => {
        const cause = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
        throw new StorageUnavailable('SQLite could not take it', { cause });
      },
      bug: async () => {
        throw Object.assign(new RangeError('out of range'), { code: 'ERR_OUT_OF_RANGE' });
      },
      text: async () => {
        throw 'no error at all';
      },
    },
    log: {
      write: async () => {
        log.info('an information', { rows: 7 });
        log.warn('a warning', { detail: 'of something' });
        log.error('an error', Object.assign(new Error('its cause'), { code: 'SQLITE_FULL' }), { page: 3 });
      },
    },
    deaths: {
      uncaught: async () => {
        void nextTurn().then(() => {
          throw Object.assign(new Error('nobody catches this'), { code: 'E_UNCAUGHT' });
        });
        return new Promise<string>(() => undefined);
      },
      exit: async (): Promise<string> => process.exit(3),
      memory: async (): Promise<string> => {
        const kept: unknown[] = [];
        for (;;) kept.push(Array.from({ length: 10_000 }, (_, nth) => ({ nth })));
      },
    },
  };
}

export type Serving = ReturnType<typeof serving>;

if (parentPort === null) throw new Error('This is the beginning of a thread, not of a program.');
await serveCalls(parentPort, async (log) => {
  if (workerData === 'cannot open') throw Object.assign(new Error('no file'), { code: 'SQLITE_CANTOPEN' });
  return { served: serving(log), close: async () => log.info('closed') };
});
