/**
 * For `node --import`: runs TypeScript sources directly. Only `import` is hooked: otherwise a module that is both
 * required and imported would be loaded twice. Mocha tries `require` first; the first type annotation makes that fail,
 * and Mocha then uses `import`.
 *
 * A worker thread gets a bundled program and no loader. The loader would need a second thread for each, and the suite
 * starts hundreds.
 */

import { syncBuiltinESMExports } from 'node:module';
import worker_threads, { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const tsx = await import('tsx/esm/api');
  tsx.register();
  const { runFolder, threadProgram } = await import('./bundled-programs.ts');
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
