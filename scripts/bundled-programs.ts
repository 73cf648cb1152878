/**
 * Bundles programs from their sources, for the hundreds of child processes and worker threads that tests start. Each is
 * bundled once per test run, by the first process that needs it. A bundle starts several times faster than the TypeScript
 * loader, which translates file by file.
 */

import { createHash } from 'node:crypto';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, buildSync } from 'esbuild';

/** The environment variable that passes the run's folder to its processes. */
const FOLDER = 'MANDATE_PROGRAMS';
/** Below the folder of package.json and node_modules, which programs look for in parent folders. */
const HOME = fileURLToPath(new URL('../.mandate', import.meta.url));
/** The database thread, and the process that checks pages: where a program that opens SQLite looks for them. */
const WORKERS = { 'worker/main': workerOf('main'), 'worker/check-pages': workerOf('check-pages') };
/** Modules that pages load. Their code looks for them in the folder beside it. */
const PAGES = fileURLToPath(new URL('../adapters/http', import.meta.url));
const ASSETS = readdirSync(PAGES)
  .map((folder) => join(PAGES, folder, 'assets'))
  .filter((assets) => existsSync(assets));
/** Packages that are not bundled: native addons, and drivers that Knex supports but that are not installed. */
const STAYS_OUTSIDE = [
  ...['better-sqlite3', 'sqlite3', 'pg', 'pg-native', 'pg-query-stream', 'mysql', 'mysql2', 'mariadb', 'oracledb'],
  'tedious',
];

/** Bundles a program. @returns the file to run */
export function processProgram(source: string | URL): string {
  return once(source, 'program.js', (entry, folder) => {
    build({ entryPoints: { program: entry }, outdir: folder, splitting: true });
    build({ entryPoints: WORKERS, outdir: folder });
    copySchemas(folder);
    for (const assets of ASSETS) cpSync(assets, join(folder, 'assets'), { recursive: true });
  });
}

/** Bundles the program of a worker thread. @returns the file to give to a `Worker` */
export function threadProgram(source: string | URL): string {
  const name = basename(pathOf(source));
  // The file keeps the source's name, because stack traces show it.
  return once(source, `${name}.js`, (entry, folder) =>
    build({ entryPoints: [entry], outfile: join(folder, `${name}.js`) }),
  );
}

/** Includes the packages. Otherwise a program would spend most of its start on finding hundreds of files. */
function build(options: BuildOptions): void {
  const requiring = "import { createRequire as requiring } from 'node:module';";
  buildSync({
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: true,
    logLevel: 'error',
    external: STAYS_OUTSIDE,
    banner: { js: `${requiring}\nconst require = requiring(import.meta.url);` },
    ...options,
  });
}

/** Returns the bundle of this name. The first process of the run that needs it builds it. */
function once(source: string | URL, name: string, make: (entry: string, folder: string) => void): string {
  const entry = pathOf(source);
  const folder = join(runFolder(), createHash('sha256').update(`${entry} ${name}`).digest('hex').slice(0, 16));
  const program = join(folder, name);
  if (existsSync(program)) return program;
  const unfinished = newFolder(`${folder}-`);
  make(entry, unfinished);
  try {
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(program)) throw error;
    rmSync(unfinished, { recursive: true, force: true });
  }
  return program;
}

function workerOf(name: string): string {
  return fileURLToPath(new URL(`../adapters/storage/sqlite/worker/${name}.ts`, import.meta.url));
}

const pathOf = (source: string | URL) => (source instanceof URL ? fileURLToPath(source) : source);

/** Known even while a test has replaced the environment. */
let folderOfRun: string | undefined;

/** The folder for this run's bundles. It exists until the run's first process ends. */
export function runFolder(): string {
  folderOfRun ??= sharedFolder();
  return folderOfRun;
}

function sharedFolder(): string {
  const known = process.env[FOLDER];
  if (known !== undefined && existsSync(known)) return known;
  mkdirSync(HOME, { recursive: true });
  removeLeftovers();
  const folder = newFolder(join(HOME, `programs-${process.pid}-`));
  copySchemas(folder);
  process.env[FOLDER] = folder;
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Copies each engine's schema where programs look for it: in a folder beside that of the reading code. */
function copySchemas(folder: string): void {
  for (const engine of ['postgres', 'sqlite']) {
    const source = fileURLToPath(new URL(`../adapters/storage/${engine}/schema.sql`, import.meta.url));
    cpSync(source, join(folder, engine, 'schema.sql'));
  }
}

/** Makes a folder that every user can read, because some tests run a program as another user. */
function newFolder(prefix: string): string {
  const folder = mkdtempSync(prefix);
  chmodSync(folder, 0o755);
  return folder;
}

/** Removes the folders of processes that were killed. */
function removeLeftovers(): void {
  for (const name of readdirSync(HOME)) {
    const maker = /^programs-(\d+)-/.exec(name)?.[1];
    if (maker !== undefined && !isAlive(Number(maker))) rmSync(join(HOME, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
