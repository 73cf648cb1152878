/**
 * For `node --import`: runs the sources as they are, also in worker threads, which tsx by itself leaves out on Node 20.
 * Only `import` is taught it, or a module that is required and imported would be there twice. Mocha tries `require`
 * first, and is led to `import` by the first type that it meets.
 *
 * A thread gets its program as one piece, put together once in a process: the suite starts hundreds of them.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { register } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

/** Handed down in the environment: nothing else reaches a thread's module hooks. */
const PROGRAMS = 'MANDATE_THREAD_PROGRAMS';

if (isMainThread) {
  const tsx = await import('tsx/esm/api');
  tsx.register();
  // A child runs the same sources as the process that started it.
  if (process.env[PROGRAMS] === undefined) {
    const folder = mkdtempSync(join(tmpdir(), 'mandate-threads-'));
    process.env[PROGRAMS] = folder;
    process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  }
} else {
  register('./thread-program.mjs', import.meta.url, { data: process.env[PROGRAMS] });
}
