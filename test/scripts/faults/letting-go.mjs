/** A process of two threads, each of which says when what it made and let go is gone. */

import { fileURLToPath } from 'node:url';
import { isMainThread, Worker } from 'node:worker_threads';

const who = isMainThread ? 'main' : 'thread';
const gone = new FinalizationRegistry(() => process.stdout.write(`${who} gone\n`));
// In a call of its own, whose frame does not keep it.
(() => gone.register({}))();
process.stdout.write(`${who} ready\n`);
if (isMainThread) new Worker(fileURLToPath(import.meta.url));
// The registry is kept, or it would go without a word.
setInterval(() => gone, 1000);
