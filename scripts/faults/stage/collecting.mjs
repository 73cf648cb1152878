/**
 * For `node --import`, before the service: SIGUSR2 collects all garbage, on every thread. What is resident right after it is
 * what is alive; at other times it says more of when there last was time to collect. The main thread says that it has been
 * done by writing what is left of its heap, in bytes, to the file that its own address names (`?said=`).
 */

import { writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BroadcastChannel, isMainThread } from 'node:worker_threads';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
const threads = new BroadcastChannel('collecting');
threads.unref();
threads.onmessage = () => collect();
const said = new URL(import.meta.url).searchParams.get('said');
if (isMainThread && said !== null) {
  process.on('SIGUSR2', () => {
    threads.postMessage('now');
    collect();
    writeFileSync(said, String(process.memoryUsage().heapUsed));
  });
}
