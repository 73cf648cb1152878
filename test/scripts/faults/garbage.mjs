/** A process of two threads. Each prints when the garbage that it made is collected. */

import { fileURLToPath } from 'node:url';
import { isMainThread, Worker } from 'node:worker_threads';

const name = isMainThread ? 'main' : 'thread';
const registry = new FinalizationRegistry(() => process.stdout.write(`${name} gone\n`));
// In a function call, so that no frame holds the object.
(() => registry.register({}))();
process.stdout.write(`${name} ready\n`);
if (isMainThread) new Worker(fileURLToPath(import.meta.url));
// Holds the registry: otherwise it would be collected too.
setInterval(() => registry, 1000);
