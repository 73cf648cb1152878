/** Holds every file to the layers of the house, and tries itself against what it has to find. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { layeringFaults, PACKAGE_HOMES } from './support/architecture/layering.ts';

/** Not ours, or not source. */
const LEFT_OUT = new Set(['node_modules', 'dist', 'coverage', '.git', '.mandate']);
const SOURCE = /\.[cm]?[jt]sx?$/;

function sourceFiles(folder: string): readonly string[] {
  return readdirSync(folder || '.', { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : sourceFiles(path);
    return SOURCE.test(entry.name) ? [path] : [];
  });
}

describe('The architecture', () => {
  const files = sourceFiles('');

  it('is looked at in every layer', () => {
    for (const layer of ['domain', 'application', 'adapters', 'composition']) {
      expect(
        files.filter((path) => path.startsWith(`${layer}/`)),
        layer,
      ).not.to.have.length(0);
    }
  });

  it('is kept by every file', () => {
    const faults = files.flatMap((path) => layeringFaults(path, readFileSync(path, 'utf8')));
    expect(faults.join('\n')).to.equal('');
  });

  it('gives a home to each package the service depends on, and to no other', () => {
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8')) as { dependencies: object };
    expect(Object.keys(PACKAGE_HOMES)).to.have.members(Object.keys(dependencies));
  });
});

describe('The check of the architecture', () => {
  const forms: readonly (readonly [string, (specifier: string) => string])[] = [
    ['import', (x) => `import { a } from '${x}';`],
    ['import of a default', (x) => `import a from "${x}"`],
    ['import of everything', (x) => `import * as a from '${x}';`],
    ['import of several lines', (x) => `import {\n  a, // 'c'\n  type from,\n} from\n  '${x}';`],
    ['import without spaces', (x) => `import{a}from'${x}'`],
    ['import with attributes', (x) => `import a from '${x}' with { type: 'json' };`],
    ['import type', (x) => `import type { a } from '${x}';`],
    ['import of an inline type', (x) => `import { type a } from '${x}';`],
    ['bare import', (x) => `import '${x}';`],
    ['import with a comment in it', (x) => `import /* '.' */ '${x}';`],
    ['import after other code on the line', (x) => `const r = /'/; import '${x}';`],
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
    ['export from', (x) => `export { a } from '${x}';`],
    ['export type from', (x) => `export type { a } from '${x}';`],
    ['export of everything', (x) => `export * from '${x}';`],
    ['export of everything under a name', (x) => `export * as a from '${x}';`],
    ['export of every type', (x) => `export type * from '${x}';`],
    ['reference directive', (x) => `/// <reference types="${x}" />`],
  ];

  const forbidden: readonly (readonly [from: string, specifier: string, fault: string])[] = [
    ['domain/tasks/task.ts', '../../application/ports/log.ts', 'imports application/ports/log.ts'],
    ['domain/tasks/task.ts', '../../adapters/jose/keys.ts', 'imports adapters/jose/keys.ts'],
    ['domain/tasks/task.ts', 'node:crypto', 'imports node:crypto in the core'],
    ['domain/tasks/task.ts', 'crypto', 'imports crypto, which has no home'],
    ['domain/tasks/task.ts', 'ulid', 'imports ulid, whose home is adapters/system'],
    ['application/token/exchange.ts', '../../adapters/http/body.ts', 'imports adapters/http/body.ts'],
    ['application/token/exchange.ts', '../../composition/main.ts', 'imports composition/main.ts'],
    ['application/token/exchange.ts', 'node:crypto', 'imports node:crypto in the core'],
    ['application/token/exchange.ts', 'jose', 'imports jose, whose home is adapters/jose'],
    ['adapters/http/app.ts', '../jose/keys.ts', 'imports adapters/jose/keys.ts of another adapter'],
    ['adapters/http/app.ts', '../../adapters/jose/keys.ts', 'imports adapters/jose/keys.ts of another adapter'],
    ['adapters/http/app.ts', '../../composition/main.ts', 'imports composition/main.ts'],
    ['adapters/http/app.ts', '../../test/support/mandate.ts', 'imports test/support/mandate.ts'],
    ['adapters/http/app.ts', 'pg', 'imports pg, whose home is adapters/persistence'],
    ['adapters/httpx/app.ts', 'express', 'imports express, whose home is adapters/http'],
    ['adapters/http/app.ts', 'express-session', 'imports express-session, which has no home'],
    ['adapters/http/app.ts', '@scope/express', 'imports @scope/express, which has no home'],
    ['adapters/http/app.ts', '/etc/passwd.js', 'imports /etc/passwd.js, which has no home'],
    ['adapters/persistence/sql/a.ts', 'express/lib/router', 'imports express/lib/router, whose home is adapters/http'],
    ['adapters/persistence/sql/a.ts', 'tsyringe', 'imports tsyringe, whose home is composition'],
    ['composition/container.ts', 'express', 'imports express, whose home is adapters/http'],
    ['composition/container.ts', '../scripts/bench/main.ts', 'imports scripts/bench/main.ts'],
    ['composition/container.ts', '..', 'imports .'],
    ['adapters/sdk/a.ts', '../../application/ports/log.ts', 'imports application/ports/log.ts into a product'],
    ['adapters/sdk/agent/a.ts', '../../jose/keys.ts', 'imports adapters/jose/keys.ts into a product'],
    ['adapters/sdk/agent/a.ts', '../../../composition/main.ts', 'imports composition/main.ts into a product'],
    ['adapters/sdk/a.ts', './agent/b.ts', 'imports adapters/sdk/agent/b.ts into a product'],
    ['adapters/sdk/agent/a.ts', '../audit/b.ts', 'imports adapters/sdk/audit/b.ts into a product'],
    [
      'adapters/sdk/agent/a.ts',
      '../tool-server/core/b.ts',
      'imports adapters/sdk/tool-server/core/b.ts into a product',
    ],
    ['adapters/sdk/tool-server/core/a.ts', '../mcp/b.ts', 'imports adapters/sdk/tool-server/mcp/b.ts of a framework'],
    ['adapters/sdk/tool-server/a.ts', './mcp/b.ts', 'imports adapters/sdk/tool-server/mcp/b.ts of a framework'],
    [
      'adapters/sdk/tool-server/mcp/a.ts',
      '../express/b.ts',
      'imports adapters/sdk/tool-server/express/b.ts of a framework',
    ],
    ['adapters/http/a.ts', '../sdk/a.ts', 'imports adapters/sdk/a.ts of another adapter'],
    ['adapters/sdk/tool-server/core/a.ts', 'express', 'imports express, whose home is adapters/http'],
    [
      'adapters/sdk/tool-server/express/a.ts',
      'fastify',
      'imports fastify, whose home is adapters/sdk/tool-server/fastify',
    ],
    ['adapters/http/a.ts', 'fastify', 'imports fastify, whose home is adapters/sdk/tool-server/fastify'],
    ['adapters/sdk/tool-server/core/a.ts', 'ulid', 'imports ulid, whose home is adapters/system'],
    ['adapters/sdk/audit/a.ts', 'jose', 'imports jose, whose home is adapters/jose'],
  ];

  const allowed: readonly (readonly [from: string, specifier: string])[] = [
    ['domain/tasks/task.ts', '../identifiers.ts'],
    ['application/token/exchange.ts', '../../domain/denial.ts'],
    ['application/token/exchange.ts', '../ports/log.ts'],
    ['adapters/http/oauth/router.ts', '../../../domain/denial.ts'],
    ['adapters/http/oauth/router.ts', '../body.ts'],
    ['adapters/http/oauth/router.ts', 'express'],
    ['adapters/http/oauth/router.ts', 'node:http'],
    ['adapters/persistence/postgres/tasks.ts', 'pg/lib/x'],
    ['composition/main.ts', '../adapters/http/app.ts'],
    ['composition/main.ts', 'tsyringe'],
    ['composition/main.ts', 'node:process'],
    ['adapters/sdk/agent/a.ts', '../../../domain/scope.ts'],
    ['adapters/sdk/a.ts', '../../domain/scope.ts'],
    ['adapters/sdk/agent/a.ts', '../a.ts'],
    ['adapters/sdk/agent/a.ts', './b.ts'],
    ['adapters/sdk/agent/a.ts', 'jose'],
    ['adapters/sdk/agent/a.ts', 'node:crypto'],
    ['adapters/sdk/tool-server/core/a.ts', 'jose'],
    ['adapters/sdk/tool-server/core/a.ts', '../../a.ts'],
    ['adapters/sdk/tool-server/core/a.ts', './b.ts'],
    ['adapters/sdk/tool-server/express/a.ts', '../core/b.ts'],
    ['adapters/sdk/tool-server/express/a.ts', './b.ts'],
    ['adapters/sdk/tool-server/express/a.ts', 'express'],
    ['adapters/sdk/tool-server/fastify/a.ts', 'fastify'],
    ['adapters/sdk/tool-server/mcp/a.ts', '@modelcontextprotocol/server'],
    ['adapters/sdk/tool-server/mcp/a.ts', '@modelcontextprotocol/express'],
    ['composition/main.ts', '../adapters/sdk/audit/a.ts'],
  ];

  for (const [form, written] of forms) {
    it(`finds what is forbidden in every ${form}, and nothing else`, () => {
      for (const [from, specifier, fault] of forbidden) {
        expect(layeringFaults(from, written(specifier))).to.deep.equal([`${from} ${fault}`]);
      }
      for (const [from, specifier] of allowed) expect(layeringFaults(from, written(specifier))).to.deep.equal([]);
    });
  }

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
    'const load = createRequire(import.meta.url);',
  ];
  for (const source of hidden) {
    it(`refuses an import that the source does not show: ${source}`, () => {
      expect(new Set(layeringFaults('adapters/http/app.ts', source))).to.deep.equal(
        new Set(['adapters/http/app.ts imports something that its source does not show']),
      );
    });
  }

  for (const source of ["\\u0072equire('node:fs')", "const a = 'no end", 'const a = `no end', '}']) {
    it(`does not pass what it cannot read: ${source}`, () => {
      expect(() => layeringFaults('domain/a.ts', source)).to.throw(SyntaxError, /^Line 1 has /);
    });
  }

  const harmless: readonly string[] = [
    "// import { a } from 'express';",
    "/* import 'express'; require('express') */",
    'const a = "import \'express\'";',
    "const a = `import 'express'; export * from 'pg'`;",
    "const a = /import 'express'/.test(b);",
    "const a = b / c; // ' /",
    'const a = [/[/\'"]/, /\\//];',
    "const a = { import: 'express', require: 'pg', export: 'jose' };",
    "a.export({ from: 'express' });",
    "export const from = 'express';",
    "export { a }; const b = { from: 'express' };",
    'const required = requirement(exported);',
    'const url = import.meta.url;',
  ];
  for (const source of harmless) {
    it(`does not take this for an import: ${source}`, () => {
      expect(layeringFaults('adapters/jose/a.ts', source)).to.deep.equal([]);
    });
  }

  const world: readonly (readonly [string, string])[] = [
    ['const now = Date.now();', 'Date.now'],
    ['const now = new Date();', 'the time of day'],
    ['const roll = Math.random();', 'Math.random'],
    ['await fetch(url);', 'fetch'],
    ['const home = process.env.HOME;', 'process'],
    ['console.log(1);', 'console'],
    ['crypto.randomUUID();', 'crypto'],
    ['setTimeout(() => {}, 1);', 'setTimeout'],
    ["globalThis['fetch'](url);", 'globalThis'],
  ];
  for (const [source, name] of world) {
    it(`finds the world in the core: ${source}`, () => {
      for (const path of ['domain/a.ts', 'application/token/a.ts']) {
        const fault = `${path} uses ${name}, which has to come in through a port`;
        expect(layeringFaults(path, source)).to.deep.equal([fault]);
      }
      expect(layeringFaults('adapters/system/a.ts', source)).to.deep.equal([]);
    });
  }

  it('lets the core have values that only sound like the world', () => {
    const source = "new Date(0); clock.now(); a.process(); const b = { fetch: 1 }; const c = 'process'; // Date.now()";
    expect(layeringFaults('domain/a.ts', source)).to.deep.equal([]);
  });

  it('finds a decorator anywhere but in composition', () => {
    const source = '@injectable()\nexport class A {}';
    expect(layeringFaults('adapters/http/a.ts', source)).to.deep.equal(['adapters/http/a.ts has a decorator']);
    expect(layeringFaults('domain/a.ts', source)).to.deep.equal(['domain/a.ts has a decorator']);
    expect(layeringFaults('composition/a.ts', source)).to.deep.equal([]);
    expect(layeringFaults('domain/a.ts', "const at = '@'; // @deprecated")).to.deep.equal([]);
  });

  const places: readonly (readonly [string, string])[] = [
    ['src/main.ts', 'is source outside of every layer'],
    ['main.ts', 'is source outside of every layer'],
    ['infrastructure/http/app.ts', 'is source outside of every layer'],
    ['adapters/app.ts', 'is in no adapter'],
    ['domain/utils/a.ts', 'is in a folder utils'],
    ['application/token/helpers/a.ts', 'is in a folder helpers'],
    ['adapters/common/a.ts', 'is in a folder common'],
    ['test/shared/a.ts', 'is in a folder shared'],
    ['scripts/types/a.ts', 'is in a folder types'],
    ['application/ports/index.ts', 'is a barrel'],
  ];
  for (const [path, fault] of places) {
    it(`finds that ${path} ${fault}`, () => expect(layeringFaults(path, '')).to.deep.equal([`${path} ${fault}`]));
  }
});
