/** The packages of this repository, packed by npm as from a fresh clone: the service `mandate` and the libraries. */

import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const LAYERS = ['domain', 'application', 'adapters', 'composition'];

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly license: string;
  readonly engines: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly workspaces?: readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

interface SourcePackage {
  readonly manifest: Manifest;
  /** The package's folder in the repository, or the empty string for the service. */
  readonly source: string;
}

const manifestIn = async (folder: string): Promise<Manifest> =>
  JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8'));

export const service: SourcePackage = { source: '', manifest: await manifestIn('') };
export const libraries: readonly SourcePackage[] = await Promise.all(
  (service.manifest.workspaces ?? []).map(async (source) => ({ source, manifest: await manifestIn(source) })),
);

export interface PackedPackage extends SourcePackage {
  readonly tarball: string;
  /** The folder of the unpacked files. */
  readonly folder: string;
}

/** Runs the npm that runs the tests, otherwise the npm on the PATH. */
export async function npm(args: readonly string[], cwd: string): Promise<string> {
  const cli = process.env.npm_execpath;
  const [command, ...first] = cli?.endsWith('.js') ? [process.execPath, cli] : ['npm'];
  const { stdout } = await run(command, [...first, ...args], { cwd }).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => {
      throw new Error(`npm ${args.join(' ')} failed:\n${error.stdout}\n${error.stderr}`);
    },
  );
  return stdout;
}

/** Packs a clone in which `npm ci` has run, but no build. @returns the packages by name */
export async function packEverything(folder: string): Promise<ReadonlyMap<string, PackedPackage>> {
  const clone = join(folder, 'clone');
  await mkdir(clone);
  const names = [...LAYERS, 'package.json', 'README.md', 'LICENSE', 'tsconfig.json', 'tsconfig.build.json'];
  // A clone has these files, and packing needs some of them. No package may contain them.
  names.push('docs', 'scripts', '.gitignore');
  const isOfClone = (path: string) => !['dist', 'node_modules'].includes(basename(path)) && !isCopiedLicence(path);
  for (const name of names) await cp(join(root, name), join(clone, name), { recursive: true, filter: isOfClone });
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'), 'junction');
  await npm(['pack', '--workspaces', '--include-workspace-root', '--pack-destination', folder], clone);

  const packed = [service, ...libraries].map(async (each) => {
    const { name, version } = each.manifest;
    const tarball = join(folder, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
    const unpacked = join(folder, 'unpacked', name);
    await mkdir(unpacked, { recursive: true });
    await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', unpacked]);
    return [name, { ...each, tarball, folder: unpacked }] as const;
  });
  return new Map(await Promise.all(packed));
}

/** An earlier `npm pack` leaves such a file in the folder of a library. */
function isCopiedLicence(path: string): boolean {
  return basename(path) === 'LICENSE' && relative(root, dirname(path)) !== '';
}

/** The files of a folder and its subfolders, as paths relative to the folder. */
export async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
}

/** The size of all files in a folder, in bytes. */
export async function sizeOf(folder: string): Promise<number> {
  const files = await filesIn(folder);
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(folder, file))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The installed dependencies of a package, direct and indirect. */
export async function closureOf({ dependencies = {} }: Pick<Manifest, 'dependencies'>): Promise<readonly string[]> {
  const closures = Object.keys(dependencies).map(async (name) => {
    const manifest = JSON.parse(await readFile(join(root, 'node_modules', name, 'package.json'), 'utf8')) as Manifest;
    return [name, ...(await closureOf(manifest))];
  });
  return [...new Set((await Promise.all(closures)).flat())];
}
