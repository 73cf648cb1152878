/**
 * For `node --expose-gc --import`, before the service: SIGUSR2 collects all garbage on every thread. Then the main thread
 * writes the remaining bytes of its heap to the file in the query of this module's URL (`?file=`).
 */

import { writeFileSync } from 'node:fs';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

const threads = new BroadcastChannel('collect-garbage');
threads.unref();
threads.onmessage = () => globalThis.gc();
const file = new URL(import.meta.url).searchParams.get('file');
if (isMainThread && file !== null) {
  process.on('SIGUSR2', () => {
    threads.postMessage('now');
    globalThis.gc();
    writeFileSync(file, String(process.memoryUsage().heapUsed));
  });
}
