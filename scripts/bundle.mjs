/**
 * Bundles the program into `dist/composition`, after the compiler has checked its types (`npm run build`). Without the
 * bundle, Node would find, read and link some 350 files of ours at a start (docs/performance.md). Code that is imported on
 * demand stays in separate files. Packages stay in node_modules.
 *
 * Code finds a file by a path relative to its module. In the bundle this is relative to the bundle's folder: so assets,
 * schemas and the programs of threads are copied there. `bundled-programs.ts` does the same for tests, with the packages.
 */

import { cpSync, rmSync } from 'node:fs';
import { basename } from 'node:path';
import { buildSync } from 'esbuild';

const OUT = 'dist/composition';
const WORKER = 'adapters/storage/sqlite/worker';

const options = {
  bundle: true,
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  splitting: true,
  // With `node --enable-source-maps` stack traces in the log name the source of each line, else that of the bundle. The
  // program does not enable them: a start would take some 5% more CPU.
  sourcemap: true,
  sourcesContent: false,
  logLevel: 'warning',
  outdir: OUT,
};
rmSync('dist', { recursive: true, force: true });
buildSync({ ...options, entryPoints: { main: 'composition/main.ts' } });
// A separate build without splitting: a thread then loads one file.
const threads = { 'worker/main': `${WORKER}/main.ts`, 'worker/check-pages': `${WORKER}/check-pages.ts` };
buildSync({ ...options, splitting: false, entryPoints: threads });
for (const place of ['dist/postgres', 'dist/sqlite', `${OUT}/sqlite`]) {
  cpSync(`adapters/storage/${basename(place)}/schema.sql`, `${place}/schema.sql`);
}
for (const pages of ['me', 'browser', 'console']) {
  // Two pages must not have a file of one name.
  cpSync(`adapters/http/${pages}/assets`, `${OUT}/assets`, { recursive: true, force: false, errorOnExist: true });
}
