/**
 * The libraries, used from a CommonJS project as docs/agents.md says ("From CommonJS, and in Jest"). TypeScript and Jest come
 * from the registry: the compiler of this repository no longer has the older ways to resolve modules.
 */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { npm, packEverything } from '../support/packed-packages.ts';
import { blocksOf, pageText } from '../support/pages/page.ts';

const run = promisify(execFile);

const PAGE = 'docs/agents.md';
const TOOLS = ['typescript@5.9', '@types/node@20', 'express@5', '@types/express@5', 'jest@30', '@babel/preset-env@7'];
const PRINTED = 'function function function function\n';

/** Compiles only with the types of the packages and of a subpath. */
const USES = `
  const server: ToolServer = createToolServer({ issuer: 'https://m.example', audience: 'https://j.example' });
  const protect: ReturnType<typeof expressProtection> = expressProtection(server);
  // @ts-expect-error: an agent needs a key.
  export const withoutKey = () => createAgent({ issuer: 'https://m.example', agentId: 'a' });
  console.log(typeof createAgent, typeof createToolServer, typeof protect, typeof createAuditor);`;
const IMPORTED = `import { createAgent } from '@mandate/agent';
  import { createAuditor } from '@mandate/audit';
  import { createToolServer, type ToolServer } from '@mandate/tool-server';
  import { expressProtection } from '@mandate/tool-server/express';
  ${USES}`;
const AWAITED = `export async function main() {
    const { createAgent } = await import('@mandate/agent');
    const { createAuditor } = await import('@mandate/audit');
    const { createToolServer } = await import('@mandate/tool-server');
    const { expressProtection } = await import('@mandate/tool-server/express');
    type ToolServer = ReturnType<typeof createToolServer>;
    ${USES.replace('export const', 'const')}
    void withoutKey;
  }
  void main();`;

describe('The libraries in a CommonJS project', function () {
  this.timeout(300_000);
  let folder: string;
  let project: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mandate-commonjs-'));
    const packages = await packEverything(folder);
    project = join(folder, 'project');
    await mkdir(project);
    await writeFile(join(project, 'package.json'), '{ "name": "project", "private": true }');
    const tarballs = ['@mandate/agent', '@mandate/audit', '@mandate/tool-server'].map(
      (name) => packages.get(name)?.tarball ?? expect.fail(`${name} is not packed`),
    );
    await npm(['install', '--prefer-offline', '--no-audit', '--no-fund', ...tarballs, ...TOOLS], project);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const node = (args: readonly string[], environment: Readonly<Record<string, string>> = {}) =>
    run(process.execPath, args, { cwd: project, env: { ...process.env, NODE_OPTIONS: '', ...environment } });
  /** @returns the output of the compiler if it fails */
  const compile = (module: string, resolution: string) =>
    node([
      'node_modules/typescript/bin/tsc',
      ...['--strict', '--skipLibCheck', '--target', 'es2022', '--types', 'node', '--outDir', 'out'],
      ...['--module', module, '--moduleResolution', resolution, 'use.ts'],
    ]).then(
      () => '',
      ({ stdout }: { readonly stdout: string }) => stdout,
    );

  for (const [module, resolution, source] of [
    ['commonjs', 'node10', IMPORTED],
    ['nodenext', 'nodenext', IMPORTED],
    ['node20', 'node16', IMPORTED],
    ['node16', 'node16', AWAITED],
    ['node18', 'node16', AWAITED],
  ] as const) {
    it(`compile and run with module ${module} and moduleResolution ${resolution}`, async () => {
      await writeFile(join(project, 'use.ts'), source);
      expect(await compile(module, resolution)).to.equal('');
      const { stdout, stderr } = await node(['out/use.js']);
      expect([stdout, stderr]).to.deep.equal([PRINTED, '']);
    });
  }

  it('are refused by the compiler with module node16 without await, as the page says', async () => {
    await writeFile(join(project, 'use.ts'), IMPORTED);
    expect(await compile('node16', 'node16')).to.include('TS1479');
  });

  const jest = async (test: string, environment: Readonly<Record<string, string>> = {}) => {
    await writeFile(join(project, 'use.test.js'), test);
    const program = ['node_modules/jest/bin/jest.js', '--rootDir', project];
    return node(program, environment).then(
      ({ stderr }) => stderr,
      ({ stderr }: { readonly stderr: string }) => stderr,
    );
  };
  const EXPECTED = 'expect([typeof createAgent, typeof createToolServer]).toEqual(["function", "function"]);';
  const REQUIRED = `const { createAgent } = require('@mandate/agent');
    const { createToolServer } = require('@mandate/tool-server');
    test('both are loaded', () => { ${EXPECTED} });`;

  it('load in Jest by await import, with --experimental-vm-modules', async () => {
    const test = `test('both are loaded', async () => {
      const { createAgent } = await import('@mandate/agent');
      const { createToolServer } = await import('@mandate/tool-server');
      ${EXPECTED}
    });`;
    expect(await jest(test, { NODE_OPTIONS: '--experimental-vm-modules' })).to.match(/^Tests: +1 passed/m);
  });

  it('load in Jest by require, compiled as the page says', async () => {
    if (Number(process.versions.node.split('.')[0]) < 24) {
      expect(await jest(REQUIRED)).to.include('Must use import to load ES Module');
    }
    const files = /<!-- file: (\S+) -->\n/g;
    for (const { 0: mark, 1: name = '', index } of pageText(PAGE).matchAll(files)) {
      const [block] = blocksOf(pageText(PAGE).slice(index + mark.length));
      await writeFile(join(project, name), block?.text ?? expect.fail(`${name} has no block`));
    }
    expect(await jest(REQUIRED)).to.match(/^Tests: +1 passed/m);
  });
});
