/** Tests the lint rules that keep the layers apart. */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { byLength } from './support/length.ts';

/** Runs the repository's lint on these files in a temporary folder. Returns the lint errors by path. */
function lint(files: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-layers-'));
  try {
    for (const name of ['biome.json', 'architecture.grit', 'plain-objects.grit']) cpSync(name, join(folder, name));
    symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
    for (const [path, source] of files) {
      mkdirSync(join(folder, dirname(path)), { recursive: true });
      writeFileSync(join(folder, path), `${source}\n`);
    }
    return byPath(report(folder));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

interface Diagnostic {
  readonly category: string;
  readonly severity: string;
  readonly message: string;
  readonly location: { readonly path: string };
}

function report(folder: string): readonly Diagnostic[] {
  const biome = join(process.cwd(), 'node_modules/@biomejs/biome/bin/biome');
  const options = ['lint', '--reporter=json', '--max-diagnostics=none', '--diagnostic-level=info', '.'];
  // `lint` exits with 1 if it finds errors, and `execFileSync` would throw.
  const text = execFileSync('sh', ['-c', '"$0" "$@" 2>/dev/null || true', process.execPath, biome, ...options], {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
  });
  return (JSON.parse(text) as { diagnostics: Diagnostic[] }).diagnostics;
}

const HELD = ['plugin', 'lint/style/noRestrictedGlobals', 'lint/style/noCommonJs', 'lint/suspicious/noImportCycles'];

function byPath(diagnostics: readonly Diagnostic[]): ReadonlyMap<string, readonly string[]> {
  const faults = new Map<string, string[]>();
  for (const { category, message, location } of diagnostics) {
    if (!HELD.includes(category)) continue;
    faults.set(location.path, [...(faults.get(location.path) ?? []), `${category} ${message}`]);
  }
  return faults;
}

describe('The lint of the architecture', function () {
  // At full length, one run of Biome checks about two thousand small files.
  this.timeout(60_000);

  /** Forms of an import that a layer may use for an allowed module. */
  const plain: readonly (readonly [string, (specifier: string) => string])[] = [
    ['import', (x) => `import { a } from '${x}';`],
    ['import of a default', (x) => `import a from '${x}'`],
    ['import of everything', (x) => `import * as a from '${x}';`],
    ['import of several lines', (x) => `import {\n  a, // 'c'\n  type from,\n} from\n  '${x}';`],
    ['import without spaces', (x) => `import{a}from'${x}'`],
    ['import with attributes', (x) => `import a from '${x}' with { type: 'json' };`],
    ['import type', (x) => `import type { a } from '${x}';`],
    ['import of an inline type', (x) => `import { type a } from '${x}';`],
    ['bare import', (x) => `import '${x}';`],
    ['import with a comment in it', (x) => `import /* '.' */ '${x}';`],
    ['import after other code on the line', (x) => `const r = /'/; import '${x}';`],
    ['export from', (x) => `export { a } from '${x}';`],
    ['export type from', (x) => `export type { a } from '${x}';`],
    ['export of everything', (x) => `export * from '${x}';`],
    ['export of everything under a name', (x) => `export * as a from '${x}';`],
    ['export of every type', (x) => `export type * from '${x}';`],
  ];
  /** Forms of an import that no layer may use, or composition only. */
  const other: readonly (readonly [string, (specifier: string) => string])[] = [
    ['import in double quotes', (x) => `import a from "${x}"`],
    ['require', (x) => `const a = require('${x}');`],
    ['require of a template', (x) => `const a = require(\`${x}\`);`],
    ['module.require', (x) => `module.require("${x}")`],
    ['require.resolve', (x) => `require.resolve('${x}')`],
    ['import equals', (x) => `import a = require('${x}');`],
    ['dynamic import', (x) => `const a = await import('${x}');`],
    ['dynamic import with options', (x) => `await import('${x}', { with: {} });`],
    ['dynamic import within a template', (x) => `const a = \`a \${await import('${x}')} b\`;`],
    ['type import', (x) => `type A = import('${x}').A;`],
    ['typeof import', (x) => `let a: typeof import('${x}');`],
    ['process.getBuiltinModule', (x) => `a.getBuiltinModule('${x}')`],
  ];

  const forbidden: readonly (readonly [from: string, specifier: string])[] = [
    ['domain/tasks', '../../application/ports/log.ts'],
    ['domain/tasks', '../../adapters/jose/keys.ts'],
    ['domain/tasks', '../../../elsewhere/a.ts'],
    ['domain/tasks', 'node:crypto'],
    ['domain/tasks', 'crypto'],
    ['domain/tasks', 'ulid'],
    ['application/token', '../../adapters/http/body.ts'],
    ['application/token', '../../composition/main.ts'],
    ['application/token', 'node:crypto'],
    ['application/token', 'jose'],
    ['application/ledger', 'lru-cache'],
    ['adapters/http', '../jose/keys.ts'],
    ['adapters/http', './../jose/keys.ts'],
    ['adapters/http', './oauth/../../jose/keys.ts'],
    ['adapters/http', '../../adapters/jose/keys.ts'],
    ['adapters/http/oauth', '../../jose/keys.ts'],
    ['adapters/storage/postgres/migrations', '../../../jose/keys.ts'],
    ['adapters/http', '../../composition/main.ts'],
    ['adapters/http', '../../test/support/mandate.ts'],
    ['adapters/http', 'pg'],
    ['adapters/httpx', 'express'],
    ['adapters/http', 'express-session'],
    ['adapters/http', '@scope/express'],
    ['adapters/http', '/etc/passwd.js'],
    ['adapters/storage/sql', 'express/lib/router'],
    ['adapters/storage/sql', 'tsyringe'],
    ['adapters/storage/postgres', './pool/hosts.ts'],
    ['adapters/storage/postgres', '../sqlite/list.json'],
    ['adapters/http', './list.json'],
    ['adapters/storage/sqlite', '../postgres/pool/primary.ts'],
    ['composition', '../adapters/storage/postgres/pool/hosts.ts'],
    ['composition', 'express'],
    ['composition', '../scripts/bench/main.ts'],
    ['composition', '../test/support/mandate.ts'],
    ['composition', '..'],
    ['adapters/sdk/tool-server/core', '../../../../application/ports/log.ts'],
    ['adapters/sdk/tool-server/core', '../../../jose/keys.ts'],
    ['adapters/sdk/agent', '../tool-server/core/a.ts'],
    ['adapters/sdk/agent', '@modelcontextprotocol/client'],
    ['adapters/sdk/agent/mcp', '@modelcontextprotocol/server'],
    ['adapters/sdk/agent/mcp', '../../tool-server/core/a.ts'],
    ['adapters/sdk/audit', '../agent/agent.ts'],
    ['adapters/sdk/tool-server/core', '../mcp/b.ts'],
    ['adapters/sdk/tool-server/core', '../opentelemetry/b.ts'],
    ['adapters/sdk/tool-server/core', '@opentelemetry/api'],
    ['adapters/http', '@opentelemetry/api'],
    ['adapters/telemetry', '@opentelemetry/sdk-trace'],
    ['adapters/sdk/tool-server/mcp', '../express/b.ts'],
    ['adapters/sdk/tool-server/core', 'express'],
    ['adapters/sdk/tool-server/express', 'fastify'],
    ['adapters/sdk/tool-server/core', 'ulid'],
    ['adapters/sdk/tool-server/guard', '../mcp/b.ts'],
    ['adapters/http', 'fastify'],
    ['adapters/http', '../sdk/agent/agent.ts'],
  ];

  const allowed: readonly (readonly [from: string, specifier: string])[] = [
    ['domain/tasks', '../identifiers.ts'],
    ['domain/tasks', './grant.ts'],
    ['application/token', '../../domain/denial.ts'],
    ['application/token', '../ports/log.ts'],
    ['adapters/http/oauth', '../../../domain/denial.ts'],
    ['adapters/http/oauth', '../body.ts'],
    ['adapters/http/oauth', 'express'],
    ['adapters/http/oauth', 'node:http'],
    ['adapters/storage/postgres', 'pg/lib/x'],
    ['adapters/storage/postgres', './pool/pool.ts'],
    ['adapters/storage/postgres', './list.json'],
    ['adapters/storage/postgres/pool', './hosts.ts'],
    ['adapters/storage/postgres/pool', '../limits.ts'],
    ['adapters/storage/postgres/migrations', '../../rows/a.ts'],
    ['adapters/jose', 'lru-cache'],
    ['composition', '../adapters/http/app.ts'],
    ['composition', 'tsyringe'],
    ['adapters/platform', 'fastest-levenshtein'],
    ['composition', 'node:process'],
    ['adapters/sdk/tool-server/core', '../../../../domain/scope.ts'],
    ['adapters/sdk/tool-server/core', '../../http-answer.ts'],
    ['adapters/sdk/tool-server/core', 'jose'],
    ['adapters/sdk/agent', 'jose'],
    ['adapters/sdk/agent/mcp', '@modelcontextprotocol/client'],
    ['adapters/sdk/agent/mcp', '../task.ts'],
    ['adapters/sdk/tool-server/express', '../core/b.ts'],
    ['adapters/sdk/tool-server/express', './b.ts'],
    ['adapters/sdk/tool-server/express', 'express'],
    ['adapters/sdk/tool-server/fastify', 'fastify'],
    ['adapters/sdk/tool-server/opentelemetry', '@opentelemetry/api'],
    ['adapters/telemetry', '@opentelemetry/api'],
    ['adapters/sdk/tool-server/mcp', '@modelcontextprotocol/server'],
    ['adapters/sdk/tool-server/mcp', '@modelcontextprotocol/express'],
  ];

  const hidden: readonly string[] = [
    'await import(name);',
    "await import('node:' + name);",
    "await import('no\\x64e:fs');",
    ['await import(`node:$', '{name}`);'].join(''),
    "import a from 'no\\u0064e:fs';",
    'require(name);',
    "require('node:' + name);",
    'const load = require;',
    'const { getBuiltinModule } = a;',
    'const { getBuiltinModule: load } = a;',
    'const load = createRequire(import.meta.url);',
    "import { createRequire as load } from 'node:module';",
    "import { AsyncLocalStorage } from 'node:async_hooks';",
  ];

  const harmless: readonly string[] = [
    "// import { a } from 'express';",
    "/* import 'express'; require('express') */",
    'const a = "import \'express\'";',
    "const a = `import 'express'; export * from 'pg'`;",
    "const a = /import 'express'/.test(b);",
    "const a = { import: 'express', require: 'pg', export: 'jose' };",
    "a.export({ from: 'express' });",
    'const url = import.meta.url;',
  ];

  const world: readonly string[] = [
    'const now = Date.now();',
    'const now = new Date();',
    'const now = new Date;',
    'const roll = Math.random();',
    'await fetch(url);',
    'const home = process.env.HOME;',
    'console.log(1);',
    'crypto.randomUUID();',
    'setTimeout(() => {}, 1);',
    "globalThis['fetch'](url);",
  ];

  const decorated = '@injectable()\nexport class A {}';

  const files = new Map<string, string>();
  const add = (folder: string, name: string, source: string): string => {
    const path = `${folder}/${name.replaceAll(/[^a-z]+/g, '-')}-${files.size}.ts`;
    files.set(path, source);
    return path;
  };
  let faults: ReadonlyMap<string, readonly string[]> = new Map();
  before(() => {
    faults = lint(files);
  });

  const expectFound = (paths: readonly string[]) => {
    expect(paths.filter((path) => !faults.has(path)).map((path) => `${path}: ${files.get(path)}`)).to.deep.equal([]);
  };
  const expectNone = (paths: readonly string[]) => {
    expect(paths.flatMap((path) => faults.get(path)?.map((fault) => `${path}: ${fault}`) ?? [])).to.deep.equal([]);
  };

  /** At full length all items. Otherwise those of the first form, and every fifth of each other form, in turn. */
  const tried = <Item>(items: readonly Item[], form: number) =>
    byLength({ short: items.filter((_, nth) => form === 0 || (nth + form) % 5 === 0), full: items });
  for (const [nth, [form, written]] of [...plain, ...other].entries()) {
    const paths = tried(forbidden, nth).map(([from, specifier]) => add(from, form, written(specifier)));
    it(`reports each forbidden import in the form: ${form}`, () => expectFound(paths));
  }
  for (const [nth, [form, written]] of plain.entries()) {
    const paths = tried(allowed, nth).map(([from, specifier]) => add(from, form, written(specifier)));
    it(`reports no allowed import in the form: ${form}`, () => expectNone(paths));
  }
  const onDemand = [
    ['composition', './commands/serve.ts'],
    ['composition', '../adapters/http/app.ts'],
    ['composition/pages', '../doctor/doctor.ts'],
  ].map(([from = '', specifier]) => add(from, 'on-demand', `await import('${specifier}');`));
  it('allows a dynamic import in composition', () => expectNone(onDemand));

  for (const source of hidden) {
    const path = add('adapters/http', 'hidden', source);
    it(`reports an import whose module is not a literal: ${source}`, () => {
      expectFound([path]);
    });
  }
  for (const source of harmless) {
    const path = add('adapters/jose', 'harmless', source);
    it(`does not mistake this for an import: ${source}`, () => expectNone([path]));
  }
  for (const source of world) {
    const found = ['domain', 'application/token'].map((folder) => add(folder, 'world', source));
    const free = add('adapters/platform', 'world', source);
    it(`reports access to the clock, the process or the network in domain and application: ${source}`, () => {
      expectFound(found);
      expectNone([free]);
    });
  }
  const values = "new Date(0); clock.now(); a.process(); const b = { fetch: 1 }; const c = 'process'; // Date.now()";
  const valued = add('domain', 'values', values);
  it('allows names in the domain that only look like such access', () => expectNone([valued]));

  const decoders = ['domain', 'application/token', 'adapters/sdk', 'composition'].flatMap((at) =>
    ["new TextDecoder('utf-8', { fatal: true });", 'const Decoder = TextDecoder;'].map((source) =>
      add(at, 'text', source),
    ),
  );
  const [reader, namesake] = ['domain/tokens/strict-utf8.ts', 'adapters/http/strict-utf8.ts'] as const;
  for (const path of [reader, namesake]) files.set(path, 'export const decoder = new TextDecoder();');
  it('reports a decoder of text outside of the strict reader', () => {
    expectFound([...decoders, namesake]);
    expectNone([reader]);
  });

  const undecorated = ['domain', 'application/token', 'adapters/http'].map((at) => add(at, 'decorated', decorated));
  const wired = [add('composition', 'decorated', decorated), add('domain', 'marks', "const at = '@'; // @deprecated")];
  it('reports a decorator in every layer except composition', () => {
    expectFound(undecorated);
    expectNone(wired);
  });

  const spreads = ['const a = { ...{ b, c }, d };', 'call({ ...{ b } });', 'const a = { b, ...{ c: 1 } };'].flatMap(
    (source) => ['domain', 'composition', 'scripts', 'test/support'].map((folder) => add(folder, 'spread', source)),
  );
  const merged = add('domain', 'merged', 'const a = { ...b, ...(c ? { d } : {}), ...call({ e }) };');
  it('reports a spread of an object literal in every folder', () => {
    expectFound(spreads);
    expectNone([merged]);
  });

  files.set('domain/circle/one.ts', "import type { Two } from './two.ts';\nexport type One = Two;");
  files.set('domain/circle/two.ts', "export type { Three as Two } from './three.ts';");
  files.set('domain/circle/three.ts', "import { type One } from './one.ts';\nexport type Three = One;");
  it('reports an import cycle, even of types alone', () => {
    expectFound(['one', 'two', 'three'].map((name) => `domain/circle/${name}.ts`));
  });
});
