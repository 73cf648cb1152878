/**
 * Bundles the program into `dist/composition`, after the compiler has checked its types (`npm run build`). Without the
 * bundle, Node would find, read and link some 350 files of ours at a start (docs/performance.md). Code that is imported on
 * demand stays in separate files. Packages stay in node_modules.
 *
 * A service may run from `dist` meanwhile, and load code later. So the build goes into a folder beside it, and each file is then
 * renamed into place. The files of the build before stay: a service that started from it needs them until its next start.
 * With `--clean`, as for a package, they are removed.
 *
 * Code finds a file by a path relative to its module. In the bundle this is relative to the bundle's folder: so assets,
 * schemas and the programs of threads are copied there. `bundled-programs.ts` does the same for tests, with the packages.
 */

import { constants, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { buildSync } from 'esbuild';

const DIST = 'dist';
/** As deep as `dist`: source maps name their sources relative to it. Two builds at once have separate folders. */
const NEW = `dist.${process.pid}`;
const PROGRAM = 'composition/main.js';
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
  outdir: join(NEW, 'composition'),
};

try {
  build();
  install(process.argv.includes('--clean') ? [] : filesOfProgram());
} finally {
  rmSync(NEW, { recursive: true, force: true });
}

function build() {
  buildSync({ ...options, entryPoints: { main: 'composition/main.ts' } });
  // A separate build without splitting: a thread then loads one file.
  const threads = { 'worker/main': `${WORKER}/main.ts`, 'worker/check-pages': `${WORKER}/check-pages.ts` };
  buildSync({ ...options, splitting: false, entryPoints: threads });
  for (const place of ['postgres', 'sqlite', 'composition/sqlite']) {
    copy(`adapters/storage/${basename(place)}/schema.sql`, join(NEW, place, 'schema.sql'));
  }
  for (const pages of readdirSync('adapters/http')) {
    const assets = `adapters/http/${pages}/assets`;
    if (!existsSync(assets)) continue;
    for (const name of readdirSync(assets)) copy(join(assets, name), join(NEW, 'composition/assets', name));
  }
}

/** Two pages must not have a file of one name. */
function copy(from, to) {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to, constants.COPYFILE_EXCL);
}

/** @param kept files in `dist` of the build before */
function install(kept) {
  const made = filesIn(NEW);
  // The program last: from then on, a start finds all that it names.
  for (const file of [...made.filter((one) => one !== PROGRAM), PROGRAM]) {
    mkdirSync(dirname(join(DIST, file)), { recursive: true });
    renameSync(join(NEW, file), join(DIST, file));
  }
  const wanted = new Set([...made, ...kept]);
  for (const file of filesIn(DIST)) if (!wanted.has(file)) rmSync(join(DIST, file));
}

/** The files that the program in `dist` loads, now or later, and their source maps. The name of each has a hash of its content. */
function filesOfProgram() {
  const found = new Set([PROGRAM]);
  for (const file of found) {
    const path = join(DIST, file);
    const named = existsSync(path) ? readFileSync(path, 'utf8').matchAll(/"\.\/([\w-]+-[A-Z0-9]{8}\.js)"/g) : [];
    for (const [, name] of named) found.add(`composition/${name}`);
  }
  return [...found].flatMap((file) => [file, `${file}.map`]);
}

function filesIn(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    );
}
