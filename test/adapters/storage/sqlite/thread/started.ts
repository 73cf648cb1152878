/** Starts the thread of `serving-thread.ts`, with what tests want to look at. */

import { Worker } from 'node:worker_threads';
import { type DatabaseThread, startThread } from '../../../../../adapters/storage/sqlite/thread/database-thread.ts';
import { type Remote, remote } from '../../../../../adapters/storage/sqlite/thread/remote.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import type { Serving } from './serving-thread.ts';

/** Enough for the thread to run, little enough to be used up at once. */
const HEAP_MB = 48;

export function servingWorker(workerData?: unknown): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB };
  return new Worker(new URL('./serving-thread.ts', import.meta.url), { workerData, resourceLimits });
}

/** Longer than any case takes. */
export const PATIENT_MS = 60_000;

export interface Started {
  readonly worker: Worker;
  readonly thread: DatabaseThread;
  readonly log: ReturnType<typeof capturedLog>;
  readonly serving: Remote<Serving>;
}

export async function started(limit: number = PATIENT_MS): Promise<Started> {
  const log = capturedLog();
  const worker = servingWorker();
  const thread = await startThread(worker, log);
  return { worker, thread, log, serving: remote(thread.shape, (name, given) => thread.call(name, given, limit)) };
}

export function thrownBy(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    (answer) => {
      throw new Error(`it was answered: ${String(answer)}`);
    },
    (error: unknown) => error,
  );
}
