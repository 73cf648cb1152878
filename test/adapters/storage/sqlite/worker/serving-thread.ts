/** The entry of a worker whose methods return, throw, wait or exit, for the tests in this folder. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { serve } from '../../../../../adapters/storage/sqlite/worker/rpc.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';

function serving() {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    echo: async (...given: readonly unknown[]) => given,
    held: async (what: string) => {
      await held;
      return what;
    },
    release: async () => release(),
    never: () => new Promise<string>(() => undefined),
    unsendable: async (): Promise<unknown> => () => 'a function cannot be cloned',
    away: async () => {
      const cause = Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
      throw new StorageUnavailable('SQLite could not answer or write', { cause });
    },
    bug: async () => {
      throw Object.assign(new RangeError('out of range'), { code: 'ERR_OUT_OF_RANGE' });
    },
    text: async () => {
      throw 'no error at all';
    },
    uncaught: async () => {
      void nextTurn().then(() => {
        throw Object.assign(new Error('uncaught'), { code: 'E_UNCAUGHT' });
      });
      return new Promise<string>(() => undefined);
    },
    exit: async (): Promise<string> => process.exit(3),
    memory: async (): Promise<string> => {
      const kept: unknown[] = [];
      for (;;) kept.push(Array.from({ length: 10_000 }, (_, nth) => ({ nth })));
    },
  };
}

export type Serving = ReturnType<typeof serving>;

if (parentPort === null) throw new Error('This file is the entry of a thread, not a program.');
await serve(parentPort, async () => {
  if (workerData === 'cannot open') throw Object.assign(new Error('no file'), { code: 'SQLITE_CANTOPEN' });
  return { methods: serving(), close: async () => undefined };
});
