/**
 * Runs TypeScript sources directly, by `node --import`. It hooks only `import`: otherwise a module that is both required
 * and imported would be loaded twice. Mocha first tries `require`, which fails at the first type annotation, and then uses
 * `import`.
 *
 * A worker thread runs a bundled program without this loader. The loader would need a second thread for each of them, and
 * the tests start hundreds.
 */

import { syncBuiltinESMExports } from 'node:module';
import worker_threads, { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  const tsx = await import('tsx/esm/api');
  tsx.register();
  const { runFolder, threadProgram } = await import('./bundled-programs.ts');
  // Creates the folder before any other process of the run is started.
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
