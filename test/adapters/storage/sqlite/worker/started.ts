/** Starts the worker of `serving-thread.ts`. */

import { Worker } from 'node:worker_threads';
import { type Client, connectTo } from '../../../../../adapters/storage/sqlite/worker/rpc.ts';
import type { Serving } from './serving-thread.ts';

/** A heap large enough for the worker to run, and small enough to be exhausted quickly. */
const HEAP_MB = 48;

export function servingWorker(workerData?: unknown): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: HEAP_MB };
  return new Worker(new URL('./serving-thread.ts', import.meta.url), { workerData, resourceLimits });
}

/** A time limit that no test reaches. */
export const PATIENT_MS = 60_000;

export interface Started {
  readonly worker: Worker;
  readonly client: Client;
  call<Name extends keyof Serving>(
    method: Name,
    ...args: Parameters<Serving[Name]>
  ): Promise<Awaited<ReturnType<Serving[Name]>>>;
}

export async function started(limit: number = PATIENT_MS): Promise<Started> {
  const worker = servingWorker();
  const client = await connectTo(worker);
  const call = (method: string, ...args: readonly unknown[]) => client.call(method, args, limit);
  return { worker, client, call: call as Started['call'] };
}
