/** Starts the database thread (`worker/main.ts`). */

import { Worker } from 'node:worker_threads';
import type { SqliteOptions } from './connection.ts';
import { type Client, connectTo } from './worker/rpc.ts';

/** The sources run as `.ts`, the build as `.js`. */
const ENDING = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const THREAD = new URL(`./worker/main.${ENDING}`, import.meta.url);

export function startDatabaseThread(options: SqliteOptions): Promise<Client> {
  // Node would close a descriptor that the thread leaves open. That would drop the locks of this process (`log-index.ts`).
  return connectTo(new Worker(THREAD, { workerData: options, trackUnmanagedFds: false }));
}
