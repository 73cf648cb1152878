/** The layers of the house: who may ask for whom, and what may not stand there at all. */

import { posix } from 'node:path';
import { findImports } from './find-imports.ts';
import { sourceTokens, type Token } from './source-tokens.ts';

/** The folders of the service itself, from the inside out, with what each may import beside itself. */
const LAYERS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  application: ['domain'],
  adapters: ['domain', 'application'],
  composition: ['domain', 'application', 'adapters'],
};

/** Where else source may stand; held to no layer, and out of reach for all of them. */
const BESIDE = ['scripts', 'test', 'docs', '.ci'];

/** The one folder that may import each package. A package that is not here has not been given a place yet. */
export const PACKAGE_HOMES: Readonly<Record<string, string>> = {
  ajv: 'adapters/http',
  'better-sqlite3': 'adapters/persistence',
  express: 'adapters/http',
  'ipaddr.js': 'adapters/http',
  jose: 'adapters/jose',
  knex: 'adapters/persistence',
  'lru-cache': 'adapters/jose',
  pg: 'adapters/persistence',
  'prom-client': 'adapters/metrics',
  'reflect-metadata': 'composition',
  tsyringe: 'composition',
  ulid: 'adapters/system',
  winston: 'adapters/logging',
  yaml: 'adapters/cli',
  yargs: 'adapters/cli',
};

/**
 * Packages of the libraries that others install (`mandate/tool-server`, `mandate/agent`): where each may be imported
 * beside its home. The frameworks are those of whoever uses the library.
 */
export const LIBRARY_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  jose: ['adapters/tool-server', 'adapters/agent-client'],
  express: ['adapters/tool-server/express'],
  fastify: ['adapters/tool-server/fastify'],
  '@modelcontextprotocol/server': ['adapters/tool-server/mcp'],
  '@modelcontextprotocol/express': ['adapters/tool-server/mcp'],
};

/** What others install must not bring the service with it: these import the domain and themselves. */
const LIBRARIES = ['adapters/tool-server', 'adapters/agent-client', 'adapters/auditor'];

/** Names that say nothing, so that anything ends up there. */
const FORBIDDEN_FOLDERS = ['utils', 'util', 'helpers', 'helper', 'common', 'shared', 'types', 'misc', 'lib'];

/** What the core may use of the runtime is values; these are the world: clocks, randomness, network, console. */
const AMBIENT = new Set(
  'process console fetch performance crypto globalThis eval setTimeout setInterval setImmediate WebSocket'.split(' '),
);

/**
 * What is wrong with where a file is and what it imports; a sentence each.
 *
 * @param path from the root, with forward slashes
 */
export function layeringFaults(path: string, source: string): readonly string[] {
  const layer = path.split('/')[0] ?? '';
  return [...faultsOfPlace(path, layer), ...(layer in LAYERS ? faultsOfSource(path, layer, source) : [])].map(
    (fault) => `${path} ${fault}`,
  );
}

function faultsOfPlace(path: string, layer: string): readonly string[] {
  const folders = path.split('/').slice(0, -1);
  const faults = folders.filter((name) => FORBIDDEN_FOLDERS.includes(name)).map((name) => `is in a folder ${name}`);
  if (!(layer in LAYERS) && !BESIDE.includes(layer)) faults.push('is source outside of every layer');
  if (layer === 'adapters' && folders.length < 2) faults.push('is in no adapter');
  if (layer in LAYERS && posix.basename(path).startsWith('index.')) faults.push('is a barrel');
  return faults;
}

function faultsOfSource(path: string, layer: string, source: string): readonly string[] {
  const isCore = layer === 'domain' || layer === 'application';
  const tokens = sourceTokens(source);
  return [
    ...findImports(source).flatMap((specifier) => faultOfImport(path, layer, specifier) ?? []),
    ...(isCore ? worldIn(tokens).map((name) => `uses ${name}, which has to come in through a port`) : []),
    ...(layer !== 'composition' && tokens.some(({ kind, value }) => kind === 'mark' && value === '@')
      ? ['has a decorator']
      : []),
  ];
}

function faultOfImport(path: string, layer: string, specifier: string | undefined): string | undefined {
  if (specifier === undefined) return 'imports something that its source does not show';
  if (/^\.{1,2}(\/|$)/.test(specifier)) return faultOfPath(path, layer, posix.join(posix.dirname(path), specifier));
  if (specifier.startsWith('node:')) {
    return layer === 'adapters' || layer === 'composition' ? undefined : `imports ${specifier} in the core`;
  }
  const name = packageOf(specifier);
  const home = PACKAGE_HOMES[name] ?? LIBRARY_PACKAGES[name]?.[0];
  if (home === undefined) return `imports ${specifier}, which has no home`;
  const isAllowed = [home, ...(LIBRARY_PACKAGES[name] ?? [])].some((folder) => isWithin(folder, path));
  return isAllowed ? undefined : `imports ${specifier}, whose home is ${home}`;
}

function faultOfPath(path: string, layer: string, target: string): string | undefined {
  const [targetLayer = '', targetAdapter] = target.split('/');
  const library = LIBRARIES.find((folder) => isWithin(folder, path));
  if (library !== undefined) return libraryFault(library, path, target);
  if (layer === 'adapters' && targetLayer === 'adapters') {
    return path.split('/')[1] === targetAdapter ? undefined : `imports ${target} of another adapter`;
  }
  return targetLayer === layer || LAYERS[layer]?.includes(targetLayer) ? undefined : `imports ${target}`;
}

/** Of a library, what knows a framework is a folder of its own: what is beside it does not ask for it. */
function libraryFault(library: string, path: string, target: string): string | undefined {
  if (target.startsWith('domain/')) return undefined;
  if (!isWithin(library, target)) return `imports ${target} into a library`;
  const folder = posix.dirname(target);
  return folder === library || isWithin(folder, path) ? undefined : `imports ${target} of a framework`;
}

function isWithin(folder: string, path: string): boolean {
  return path.startsWith(`${folder}/`);
}

/** `express/lib/x` and `@scope/name/x` belong to `express` and `@scope/name`. */
function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function worldIn(tokens: readonly Token[]): readonly string[] {
  const says = (at: number, ...values: readonly string[]) =>
    values.every((value, offset) => tokens[at + offset]?.value === value && tokens[at + offset]?.kind !== 'text');
  return tokens.flatMap((token, at) => {
    if (says(at, 'Date', '.', 'now') || says(at, 'Math', '.', 'random'))
      return [`${token.value}.${tokens[at + 2]?.value}`];
    if (says(at, 'new', 'Date', '(', ')') || says(at, 'new', 'Date', ';')) return ['the time of day'];
    const isMember = says(at - 1, '.') || says(at + 1, ':') || says(at + 1, '?');
    return token.kind === 'name' && AMBIENT.has(token.value) && !isMember ? [token.value] : [];
  });
}
