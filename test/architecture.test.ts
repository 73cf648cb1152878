/** Checks where source files are, and what they import. */

import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect } from 'chai';

const LAYERS = ['domain', 'application', 'adapters', 'composition'];
/** Source folders that are not layers. No layer may import them. */
const BESIDE = ['scripts', 'test', 'docs', '.ci'];
const LEFT_OUT = new Set(['node_modules', 'dist', 'coverage', '.git', '.mandate']);
const SOURCE = /\.[cm]?[jt]sx?$/;
/** Folder names that are too vague: such folders collect unrelated code. */
const FORBIDDEN_FOLDERS = ['utils', 'util', 'helpers', 'helper', 'common', 'shared', 'types', 'misc', 'lib'];
/** Imports that Biome does not see, and comments that switch its rules off. */
const UNSEEN =
  /\/\/\/\s*<reference\s|biome-ignore(?:-all|-start)?\s+(?:lint(?!\/)|lint\/plugin|[\w/]*(?:noImportCycles|noRestrictedGlobals|noCommonJs))/;

function sourceFiles(folder: string): readonly string[] {
  return readdirSync(folder || '.', { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : sourceFiles(path);
    return SOURCE.test(entry.name) ? [path] : [];
  });
}

function faultsOfPlace(path: string): readonly string[] {
  const [layer = '', ...folders] = path.split('/').slice(0, -1);
  const faults = [layer, ...folders]
    .filter((name) => FORBIDDEN_FOLDERS.includes(name))
    .map((name) => `is in a folder ${name}`);
  if (!LAYERS.includes(layer)) return BESIDE.includes(layer) ? faults : [...faults, 'is source outside of every layer'];
  // Browsers load what is in a folder `assets`, as it is.
  if (!path.endsWith('.ts') && folders.at(-1) !== 'assets') faults.push('is not TypeScript');
  if (layer === 'adapters' && folders.length === 0) faults.push('is in no adapter');
  if (posix.basename(path).startsWith('index.')) faults.push('is a barrel');
  if (folders.some((name) => LAYERS.includes(name))) faults.push('is in a folder named like a layer');
  return faults;
}

/** The lint holds the form of each import: a plain path in single quotes. */
const IMPORT = /\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g;

/** The folders of one parent whose files import each other in a circle. The files themselves may be in none. */
function folderCircles(sources: ReadonlyMap<string, string>): readonly string[] {
  // By parent: a child (folder or file), and those beside it whose files it imports.
  const parents = new Map<string, Map<string, Set<string>>>();
  for (const [path, source] of sources) {
    for (const [, specifier = ''] of source.matchAll(IMPORT)) {
      const [from, to] = [path.split('/'), posix.join(posix.dirname(path), specifier).split('/')];
      const at = from.findIndex((name, depth) => name !== to[depth]);
      const parent = from.slice(0, at).join('/');
      const children = parents.get(parent) ?? new Map<string, Set<string>>();
      parents.set(parent, children.set(from[at] ?? '', (children.get(from[at] ?? '') ?? new Set()).add(to[at] ?? '')));
    }
  }
  return [...parents].flatMap(([parent, children]) => {
    const reached = (child: string, seen = new Set<string>()): ReadonlySet<string> => {
      for (const next of children.get(child) ?? []) if (!seen.has(next)) reached(next, seen.add(next));
      return seen;
    };
    const folders = [...children.keys()].filter((child) => !child.endsWith('.ts'));
    return folders
      .filter((one) => folders.some((other) => other !== one && reached(one).has(other) && reached(other).has(one)))
      .map((folder) => `${parent}/${folder}`);
  });
}

describe('The architecture', () => {
  const files = sourceFiles('');

  it('has source files in every layer', () => {
    for (const layer of LAYERS) expect(files.filter((path) => path.startsWith(`${layer}/`)).length, layer).above(0);
  });

  it('has no file outside the layers or in a vaguely named folder, no barrel, and only TypeScript besides assets', () => {
    const faults = files.flatMap((path) => faultsOfPlace(path).map((fault) => `${path} ${fault}`));
    expect(faults.join('\n')).to.equal('');
  });

  it('has no reference directive in a layer, and no comment that switches a lint rule off', () => {
    const unseen = files.filter(
      (path) => LAYERS.includes(path.split('/')[0] ?? '') && UNSEEN.test(readFileSync(path, 'utf8')),
    );
    expect(unseen).to.deep.equal([]);
  });

  it('has no folders that import each other in a circle', () => {
    const sources = new Map(
      files
        .filter((path) => LAYERS.includes(path.split('/')[0] ?? ''))
        .map((path) => [path, readFileSync(path, 'utf8')]),
    );
    expect(folderCircles(sources)).to.deep.equal([]);
  });

  it('reports folders in a circle, also one of types through other folders or a file, and no circle of files', () => {
    const circles = (imports: Readonly<Record<string, string>>) =>
      folderCircles(new Map(Object.entries(imports).map(([path, to]) => [path, `import type { A } from '${to}';`])));
    expect(circles({ 'a/b/1.ts': '../c/1.ts', 'a/c/2.ts': '../b/2.ts' })).to.deep.equal(['a/b', 'a/c']);
    const through = { 'a/b/x/1.ts': '../../c/1.ts', 'a/c/2.ts': '../d.ts', 'a/d.ts': './b/3.ts' };
    expect(circles(through)).to.deep.equal(['a/b', 'a/c']);
    expect(circles({ 'a/b/1.ts': '../c/1.ts', 'a/c/2.ts': '../d/2.ts' })).to.deep.equal([]);
    expect(circles({ 'a/b/1.ts': './2.ts', 'a/b/2.ts': './1.ts' })).to.deep.equal([]);
  });

  it('is checked in a folder whose path names no layer, because the lint matches whole paths', () => {
    expect(process.cwd().split(/[\\/]/)).not.to.include.oneOf(LAYERS);
  });

  const places: readonly (readonly [string, string])[] = [
    ['src/main.ts', 'is source outside of every layer'],
    ['main.ts', 'is source outside of every layer'],
    ['infrastructure/http/app.ts', 'is source outside of every layer'],
    ['adapters/app.ts', 'is in no adapter'],
    ['domain/utils/a.ts', 'is in a folder utils'],
    ['application/token/helpers/a.ts', 'is in a folder helpers'],
    ['adapters/common/a.ts', 'is in a folder common'],
    ['adapters/http/domain/a.ts', 'is in a folder named like a layer'],
    ['adapters/http/a.js', 'is not TypeScript'],
    ['test/shared/a.ts', 'is in a folder shared'],
    ['scripts/types/a.ts', 'is in a folder types'],
    ['application/ports/index.ts', 'is a barrel'],
  ];
  for (const [path, fault] of places) {
    it(`reports that ${path} ${fault}`, () => expect(faultsOfPlace(path)).to.deep.equal([fault]));
  }

  const unseen = [
    '/// <reference types="express" />',
    '///<reference path="../http/a.ts" />',
    '// biome-ignore lint: because',
    '// biome-ignore lint/plugin: because',
    '// biome-ignore-all lint/plugin: because',
    '// biome-ignore lint/suspicious/noImportCycles: because',
  ];
  for (const source of unseen) it(`reports the comment ${source}`, () => expect(UNSEEN.test(source)).to.equal(true));
});
