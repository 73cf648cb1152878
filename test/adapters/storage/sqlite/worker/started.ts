/** Starts the thread of `serving-thread.ts`, with what tests want to look at. */

import { Worker } from 'node:worker_threads';
import { type Client, connectTo } from '../../../../../adapters/storage/sqlite/worker/rpc.ts';
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
  readonly client: Client<Serving>;
  call<Name extends keyof Serving>(
    method: Name,
    ...args: Parameters<Serving[Name]>
  ): Promise<Awaited<ReturnType<Serving[Name]>>>;
}

export async function started(limit: number = PATIENT_MS): Promise<Started> {
  const worker = servingWorker();
  const client = await connectTo<Serving>(worker);
  return { worker, client, call: (method, ...args) => client.call(method, args, limit) };
}

export function thrownBy(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    (answer) => {
      throw new Error(`it was answered: ${String(answer)}`);
    },
    (error: unknown) => error,
  );
}
