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
 * Packages that the products in `adapters/sdk` import: the folders that may import each, beside its home. Fastify and
 * the MCP SDK come from the application that installs the product.
 */
export const LIBRARY_PACKAGES: Readonly<Record<string, readonly string[]>> = {
  jose: ['adapters/sdk/tool-server', 'adapters/sdk/agent'],
  express: ['adapters/sdk/tool-server/express'],
  fastify: ['adapters/sdk/tool-server/fastify'],
  '@modelcontextprotocol/server': ['adapters/sdk/tool-server/mcp'],
  '@modelcontextprotocol/express': ['adapters/sdk/tool-server/mcp'],
};

/** The products that run in other people's processes, one folder each; files beside these folders serve all of them. */
const SDK = 'adapters/sdk';

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
  if (isWithin(SDK, path)) return faultOfProduct(path, target);
  if (layer === 'adapters' && targetLayer === 'adapters') {
    return path.split('/')[1] === targetAdapter ? undefined : `imports ${target} of another adapter`;
  }
  return targetLayer === layer || LAYERS[layer]?.includes(targetLayer) ? undefined : `imports ${target}`;
}

/**
 * A product imports the domain, itself and the files directly in `adapters/sdk`. In a product, `core` and the files
 * beside it import no other folder: those know a framework.
 */
function faultOfProduct(path: string, target: string): string | undefined {
  const product = path.split('/').slice(0, 3).join('/');
  const folder = posix.dirname(target);
  if (target.startsWith('domain/') || folder === SDK) return undefined;
  if (!isWithin(product, target)) return `imports ${target} into a product`;
  const isOpen = folder === product || folder === `${product}/core` || isWithin(folder, path);
  return isOpen ? undefined : `imports ${target} of a framework`;
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
