/** Packs the npm package as from a fresh clone, and uses it from an empty project. */

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { loadedModules } from './support/loaded-modules.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly bin: { readonly mandate: string };
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as Manifest;
const LAYERS = ['domain', 'application', 'adapters', 'composition'];

interface Subpath {
  readonly use: string;
  readonly peers?: readonly string[];
  /** Skips checking the types of other packages: those of the MCP SDK alone take ten seconds. */
  readonly skipLibCheck?: true;
}

/** For each subpath, code that compiles only with its types, and the packages that it needs. */
const SUBPATHS: Readonly<Record<string, Subpath>> = {
  'mandate/tool-server': {
    use: `import { createToolServer, type ToolServer } from 'mandate/tool-server';
      export const server: ToolServer = createToolServer({ issuer: 'https://m.example', audience: 'https://j.example' });`,
  },
  'mandate/tool-server/express': {
    use: `import { claimsOf } from 'mandate/tool-server/express';
      export const person = (request: object): string => claimsOf(request).sub;`,
  },
  'mandate/tool-server/fastify': {
    use: `import fastify from 'fastify';
      import { mandateProtection } from 'mandate/tool-server/fastify';
      export const app = fastify();
      app.get('/', { config: { mandate: { scope: ['a'] } } }, async (request) => request.mandate?.sub);
      export const protection = mandateProtection;`,
    peers: ['fastify'],
  },
  'mandate/tool-server/mcp': {
    use: `import { McpServer } from '@modelcontextprotocol/server';
      import { claimsOf } from 'mandate/tool-server/mcp';
      new McpServer({ name: 'a', version: '1' }).registerTool('b', {}, (context) => {
        const text: string = claimsOf(context).sub;
        return { content: [{ type: 'text', text }] };
      });
      // @ts-expect-error: it would be none if a type of the SDK were not found.
      claimsOf(1);`,
    peers: ['@modelcontextprotocol/server'],
    skipLibCheck: true,
  },
  'mandate/agent': {
    use: `import { type Task, TaskOver } from 'mandate/agent';
      export const token = (task: Task): Promise<string> => task.token();
      export const isOver = (error: unknown): boolean => error instanceof TaskOver && error.reason === 'ended';`,
  },
  'mandate/agent/mcp': {
    use: `import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
      import type { Agent } from 'mandate/agent';
      import { mcpAuthorization } from 'mandate/agent/mcp';
      export const transport = (agent: Agent) =>
        new StreamableHTTPClientTransport(new URL('https://j.example'), {
          authProvider: mcpAuthorization({ agent, subjectToken: '' }),
        });
      // @ts-expect-error: it would be none if a type of the SDK were not found.
      export const wrong: string = mcpAuthorization({ agent: {} as Agent, subjectToken: '' }).tokens();`,
    peers: ['@modelcontextprotocol/client'],
    skipLibCheck: true,
  },
  'mandate/audit': {
    use: `import { createAuditor } from 'mandate/audit';
      export const auditor = createAuditor({ keys: { keys: [] } });`,
  },
};

describe('the package', () => {
  let folder: string;
  let packed: string;

  before(async function () {
    this.timeout(180_000);
    folder = await mkdtemp(join(tmpdir(), 'mandate-package-'));
    packed = await pack(folder);
  });
  after(() => rm(folder, { recursive: true }));

  it('contains only compiled code and the schemas', async () => {
    const files = await filesIn(packed);
    const isCompiled = new RegExp(`^dist/(${LAYERS.join('|')})/[\\w./-]+(?<!\\.test)\\.(js|d\\.ts)$`);
    expect(files.filter((file) => !isCompiled.test(file))).to.have.members([
      ...['LICENSE', 'README.md', 'package.json'],
      ...['dist/adapters/storage/postgres/schema.sql', 'dist/adapters/storage/sqlite/schema.sql'],
    ]);
    const sources = await Promise.all(LAYERS.map((layer) => filesIn(join(root, layer))));
    expect(files.filter((file) => file.endsWith('.js')).length).to.equal(
      sources.flat().filter((file) => file.endsWith('.ts')).length,
    );
  });

  it('contains every file that its manifest names', () => {
    const named = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : [target.types, target.default],
    );
    return filesIn(packed).then((files) => {
      for (const path of [...named, manifest.bin.mandate]) expect(files).to.include(path.replace('./', ''));
    });
  });

  it('requires no framework: every peer dependency is optional', () => {
    const { peerDependencies, peerDependenciesMeta } = manifest;
    for (const name of Object.keys(peerDependencies)) expect(peerDependenciesMeta[name]?.optional, name).to.equal(true);
  });

  it('is tested here with every subpath that it exports', () => {
    const subpaths = Object.keys(manifest.exports).filter((name) => name !== './package.json');
    expect(subpaths.map((name) => name.replace('.', 'mandate'))).to.have.members(Object.keys(SUBPATHS));
  });

  describe('in a project with jose only', () => {
    let project: string;
    before(async () => {
      project = await projectWith('bare', ['jose', '@types/node', 'undici-types']);
    });

    for (const name of Object.keys(SUBPATHS)) {
      it(`${name} imports, and loads no code of the service`, async () => {
        const loaded = await loadedModules(name, { cwd: project });
        const own = loaded.flatMap((url) => /\/node_modules\/mandate\/dist\/(.+)$/.exec(url)?.[1] ?? []);
        const [entry, product] = entryOf(name);
        expect(own).to.include(entry);
        const isOfProduct = new RegExp(`^(domain/|${product}/|adapters/sdk/[^/]+$)`);
        expect(own.filter((path) => !isOfProduct.test(path))).to.deep.equal([]);
        const foreign = loaded.filter((url) => !url.includes('/node_modules/mandate/'));
        expect(foreign.filter((url) => !url.startsWith('node:') && !url.includes('/node_modules/jose/'))).to.deep.equal(
          [],
        );
      });
    }

    it('has types that resolve for subpaths without a framework', async function () {
      this.timeout(60_000);
      await compiles(
        project,
        Object.values(SUBPATHS).flatMap(({ use, peers }) => (peers === undefined ? [use] : [])),
      );
    });
  });

  for (const [name, { use, peers, skipLibCheck = false }] of Object.entries(SUBPATHS)) {
    if (peers === undefined) continue;
    it(`has types that resolve with the framework of ${name}`, async function () {
      this.timeout(60_000);
      const project = await projectWith(name.replaceAll('/', '-'), ['jose', '@types/node', 'undici-types', ...peers]);
      await compiles(project, [use], skipLibCheck);
    });
  }

  it('has a command that runs with only the declared dependencies', async function () {
    this.timeout(30_000);
    const project = await projectWith('service', Object.keys(manifest.dependencies));
    const program = join(project, 'node_modules', 'mandate', manifest.bin.mandate);
    const { stdout } = await run(process.execPath, [program, '--version'], { cwd: project });
    expect(stdout.trim()).to.equal(manifest.version);
  });

  /** Creates a project with the package and the named packages of our node_modules. */
  async function projectWith(name: string, packages: readonly string[]): Promise<string> {
    const project = join(folder, name);
    const modules = join(project, 'node_modules');
    await mkdir(modules, { recursive: true });
    await writeFile(join(project, 'package.json'), '{ "type": "module", "private": true }');
    await cp(packed, join(modules, 'mandate'), { recursive: true });
    for (const each of packages) {
      await mkdir(dirname(join(modules, each)), { recursive: true });
      await symlink(join(root, 'node_modules', each), join(modules, each), 'junction');
    }
    return project;
  }
});

/** Packs a clone after `npm ci`, before any build. */
async function pack(folder: string): Promise<string> {
  const clone = join(folder, 'clone');
  await mkdir(clone);
  const names = [...LAYERS, 'package.json', 'README.md', 'LICENSE', 'tsconfig.json', 'tsconfig.build.json'];
  // Present in a clone, but must not be packed.
  names.push('docs', '.gitignore');
  for (const name of names) await cp(join(root, name), join(clone, name), { recursive: true });
  await symlink(join(root, 'node_modules'), join(clone, 'node_modules'), 'junction');
  const npm = process.env.npm_execpath;
  const [command, ...first] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  await run(command, [...first, 'pack', '--pack-destination', folder], { cwd: clone }).catch(
    (error: { readonly stdout: string; readonly stderr: string }) => {
      throw new Error(`npm pack failed:\n${error.stdout}\n${error.stderr}`);
    },
  );
  const archive = (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? 'nothing';
  await run('tar', ['-xzf', archive], { cwd: folder });
  return join(folder, 'package');
}

async function compiles(project: string, sources: readonly string[], skipLibCheck = false): Promise<void> {
  const files = sources.map((_, at) => `use-${at}.ts`);
  await Promise.all(files.map((file, at) => writeFile(join(project, file), sources[at] ?? '')));
  const compilerOptions = {
    ...{ target: 'es2023', module: 'nodenext', strict: true, noEmit: true, skipLibCheck, types: ['node'] },
    exactOptionalPropertyTypes: true,
  };
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const compiler = join(root, 'node_modules', '.bin', 'tsc');
  const { stdout } = await run(compiler, ['-p', project]).catch((error: { readonly stdout: string }) => error);
  expect(stdout).to.equal('');
}

/** The file that a subpath names, and the product's folder: `adapters/sdk/agent`. */
function entryOf(name: string): readonly [file: string, product: string] {
  const target = manifest.exports[name.replace('mandate', '.')];
  const file = (typeof target === 'object' ? target.default : '').replace('./dist/', '');
  return [file, file.split('/').slice(0, 3).join('/')];
}

/** The files of a folder and its subfolders, as relative paths. */
async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
}
