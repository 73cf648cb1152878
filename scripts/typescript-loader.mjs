/**
 * For `node --import`: runs the sources as they are. Only `import` is taught it, or a module that is required and
 * imported would be there twice. Mocha tries `require` first, and is led to `import` by the first type that it meets.
 *
 * A worker thread gets its program as one piece and goes without the loader, which would cost it a second thread: the
 * suite starts hundreds of them.
 */

import { syncBuiltinESMExports } from 'node:module';
import worker_threads, { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const tsx = await import('tsx/esm/api');
  tsx.register();
  const { runFolder, threadProgram } = await import('./one-piece.ts');
  // Before any other process of the run is started.
  runFolder();

  const { Worker } = worker_threads;
  worker_threads.Worker = class extends Worker {
    constructor(program, options) {
      if (program instanceof URL && program.pathname.endsWith('.ts')) {
        super(threadProgram(program), { execArgv: withoutLoader(process.execArgv), ...options });
      } else {
        super(program, options);
      }
    }
  };
  syncBuiltinESMExports();
}

function withoutLoader(flags) {
  const isLoader = (flag) => flag?.endsWith('/typescript-loader.mjs');
  return flags.filter((flag, nth) => !isLoader(flag) && !(flag === '--import' && isLoader(flags[nth + 1])));
}
