/** A process of two threads. Each makes garbage, and prints a line when V8 collects it. */

import { fileURLToPath } from 'node:url';
import { isMainThread, Worker } from 'node:worker_threads';

const name = isMainThread ? 'main' : 'thread';
const registry = new FinalizationRegistry(() => process.stdout.write(`${name} gone\n`));
// Made in a function call, so that no stack frame refers to the object.
(() => registry.register({}))();
process.stdout.write(`${name} ready\n`);
if (isMainThread) new Worker(fileURLToPath(import.meta.url));
// Keeps the registry alive: V8 would collect it with the object.
setInterval(() => registry, 1000);
