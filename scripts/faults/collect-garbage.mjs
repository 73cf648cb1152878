/**
 * Loaded by `node --expose-gc --import` before the service. SIGUSR2 makes every thread collect its garbage. Then the main
 * thread writes the size of its heap, in bytes, to the file in this module's URL (`?file=`).
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
