/** Packs the npm packages as from a fresh clone, and uses them from an empty project. */

import { execFile } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { loadedModules } from '../support/loaded-modules.ts';
import { writtenLog } from '../support/log/written-log.ts';
import { environmentOf } from '../support/mandate.ts';
import { compiles, libraryOf, SUBPATHS } from '../support/package-subpaths.ts';
import {
  closureOf,
  filesIn,
  LAYERS,
  libraries,
  type PackedPackage,
  packEverything,
  root,
  service,
  sizeOf,
} from '../support/packed-packages.ts';
import { useLibraries } from '../support/used-libraries.ts';

const run = promisify(execFile);
const names = libraries.map(({ manifest }) => manifest.name);

/** Limits of a library's installation: packages and bytes of itself and its dependencies, unpacked. */
const LIMITS: Readonly<Record<string, { readonly packages: number; readonly bytes: number }>> = {
  '@mandate/agent': { packages: 3, bytes: 1_000_000 },
  // The guard reads YAML, and validates by schemas: ajv depends on four packages, and re2js runs the patterns.
  '@mandate/tool-server': { packages: 9, bytes: 4_800_000 },
  '@mandate/audit': { packages: 3, bytes: 1_000_000 },
};
/** What only the guard depends on. */
const GUARD_ONLY = ['yaml', 'ajv', 're2js'];
/** What the program of a library gets of the service: its wiring, and what that imports. */
const OF_PROGRAM: Readonly<Record<string, RegExp>> = {
  '@mandate/tool-server':
    /^dist\/(?:composition\/(?:guard\/[\w-]+|listen-faults|on-supported-node|until-told-to-stop)|adapters\/cli\/(?:exit-code|standard-output|yaml\/yaml-[a-z]+)|adapters\/http\/server\/(?:connection|problem-document|protocol-errors|server|throttled-log)|adapters\/jose\/(?:signature|signing-key)|adapters\/platform\/(?:key-file|package-version|sync-folder)|adapters\/telemetry\/(?:error-report|log-lines|scrape-listener))\.(?:js|d\.ts)$/,
};
/** This many lines fit on one screen. */
const MAX_README_LINES = 40;

describe('Packages:', () => {
  let folder: string;
  let packages: ReadonlyMap<string, PackedPackage>;

  before(async function () {
    this.timeout(180_000);
    folder = await mkdtemp(join(tmpdir(), 'mandate-package-'));
    packages = await packEverything(folder);
  });
  after(() => rm(folder, { recursive: true }));

  const packed = (name: string): PackedPackage => {
    const found = packages.get(name);
    if (found === undefined) throw new Error(`${name} is not packed`);
    return found;
  };

  it('have one version, one licence, one range of Node and one range of each dependency', async () => {
    const licence = await readFile(join(root, 'LICENSE'), 'utf8');
    for (const name of names) {
      const { manifest } = packed(name);
      const { version, license, engines, dependencies } = service.manifest;
      expect(manifest, name).to.deep.include({ version, license, engines });
      expect(dependencies, name).to.include(manifest.dependencies ?? {});
      expect(await readFile(join(packed(name).folder, 'LICENSE'), 'utf8'), name).to.equal(licence);
    }
  });

  for (const { manifest } of [service, ...libraries]) {
    it(`${manifest.name} contains every file that its manifest names`, async () => {
      const exported = Object.values(manifest.exports).flatMap((target) =>
        typeof target === 'string' ? [target] : [target.types, target.default],
      );
      const files = await filesIn(packed(manifest.name).folder);
      for (const path of [...exported, ...Object.values(manifest.bin ?? {})])
        expect(files).to.include(path.replace('./', ''));
    });
  }

  describe('the service mandate', () => {
    it('contains only bundled code, its source maps, the assets, the schemas and the OpenAPI document', async () => {
      const files = await filesIn(packed('mandate').folder);
      const bundle = /^dist\/composition\/(?:[\w-]+-[A-Z0-9]{8}|main|worker\/main|worker\/check-pages)\.js(?:\.map)?$/;
      expect(files).to.include.members(
        ['main', 'worker/main', 'worker/check-pages'].map((name) => `dist/composition/${name}.js`),
      );
      expect(files.filter((file) => !bundle.test(file))).to.have.members([
        ...['LICENSE', 'README.md', 'package.json', 'adapters/http/openapi.json'],
        ...['postgres', 'sqlite', 'composition/sqlite'].map((folder) => `dist/${folder}/schema.sql`),
        ...['authorize.js', 'console.css', 'mark.svg', 'me.js', 'pages.css', 'person.css', 'records.css', 'renewal.js']
          .concat('stream.js', 'verify.js', 'views.css')
          .map((name) => `dist/composition/assets/${name}`),
      ]);
    });

    it('names the source of each line of its bundle, and no source of a test or a package', async () => {
      const { folder } = packed('mandate');
      const maps = (await filesIn(folder)).filter((file) => file.endsWith('.map'));
      const sources = await Promise.all(
        maps.map(async (map) => {
          const named: readonly string[] = JSON.parse(await readFile(join(folder, map), 'utf8')).sources;
          return named.map((source) => join(dirname(map), source));
        }),
      );
      expect(sources.flat()).to.include.members(['composition/main.ts', 'adapters/storage/sqlite/worker/main.ts']);
      const ours = new RegExp(`^(?:${LAYERS.join('|')})/[\\w./-]+(?<!\\.test)\\.(?:ts|json)$`);
      expect(sources.flat().filter((source) => !ours.test(source))).to.deep.equal([]);
    });

    it('exports no module, only the OpenAPI document: it is a program', () => {
      expect(service.manifest.exports).to.deep.equal({
        './openapi.json': './adapters/http/openapi.json',
        './package.json': './package.json',
      });
    });

    describe('without the optional better-sqlite3', () => {
      let project: string;
      let sqlite: Readonly<Record<string, string>>;
      before(async () => {
        project = await projectWith('service', ['mandate'], Object.keys(service.manifest.dependencies ?? {}));
        const path = join(project, 'mandate.db');
        await writeFile(path, '');
        sqlite = environmentOf({
          'Service:Database:Provider': 'sqlite',
          'Service:Database:Path': path,
          'Service:Issuer': 'https://mandate.example',
          'Service:UpstreamIdp:Issuer': 'https://idp.example',
          'Service:UpstreamIdp:Audience': 'https://mandate.example',
          'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
          'Service:Admin:ApiKey': 'an-admin-key-of-more-than-32-characters',
          NODE_ENV: 'development',
        });
      });

      const mandate = (args: readonly string[]) => {
        const program = join(project, 'node_modules', 'mandate', service.manifest.bin?.mandate ?? '');
        const env = { PATH: process.env.PATH, ...sqlite };
        return run(process.execPath, [program, ...args], { cwd: project, env }).then(
          ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
          (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error,
        );
      };

      it('runs its command', async function () {
        this.timeout(30_000);
        const { code, stdout } = await mandate(['--version']);
        expect([code, stdout.trim()]).to.deep.equal([0, service.manifest.version]);
      });

      const major = /\d+/.exec(service.manifest.optionalDependencies?.['better-sqlite3'] ?? '')?.[0];
      const sentence = `better-sqlite3, which SQLite needs, is not installed: npm install better-sqlite3@${major}.`;
      for (const command of ['migrate', 'serve', 'audit-verify']) {
        it(`exits ${command} on SQLite with 1 and names the package to install`, async function () {
          this.timeout(30_000);
          const key = command === 'audit-verify' ? ['--jwks', await keySet()] : [];
          const { code, stdout, stderr } = await mandate([command, ...key]);
          expect([code, stderr]).to.deep.equal([1, `mandate: ${sentence}\n`]);
          // The log would blame the file.
          expect(stdout).not.to.include('error');
        });
      }

      for (const command of ['init', 'serve', 'accept-clock']) {
        it(`exits witness ${command} with 1 and names the package to install, and leaves no file`, async function () {
          this.timeout(30_000);
          const [key, state] = [join(project, `${command}.pem`), join(project, `${command}.db`)];
          const more =
            { init: ['--name', 'w.test'], serve: ['--log', writtenLog('log.test/ledger').vkey], 'accept-clock': [] }[
              command
            ] ?? [];
          const files = [...(command === 'accept-clock' ? [] : ['--key', key]), '--state', state];
          const { code, stdout, stderr } = await mandate(['witness', command, ...files, ...more]);
          expect([code, stdout, stderr]).to.deep.equal([1, '', `mandate: ${sentence}\n`]);
          expect([key, state].filter((path) => existsSync(path))).to.deep.equal([]);
        });
      }

      it('makes doctor name the package to install', async function () {
        this.timeout(30_000);
        const { stdout } = await mandate(['doctor', '--json']);
        const found = (JSON.parse(stdout) as { check: string }[]).find(({ check }) => check === 'database');
        expect(found).to.deep.include({ status: 'failed', sentence });
      });

      async function keySet(): Promise<string> {
        const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
        const file = join(project, 'keys.json');
        await writeFile(file, JSON.stringify({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] }));
        return file;
      }
    });
  });

  for (const { manifest, source } of libraries) {
    describe(manifest.name, () => {
      it('contains only its compiled code, and that of the domain and of adapters/sdk that it imports', async () => {
        const files = await filesIn(packed(manifest.name).folder);
        const isCompiled = new RegExp(
          `^dist/(?:domain/[\\w/-]+|adapters/sdk/[\\w-]+|${source}/[\\w/-]+)\\.(?:js|d\\.ts)$`,
        );
        const ofProgram = OF_PROGRAM[manifest.name];
        expect(files.filter((file) => !isCompiled.test(file) && !ofProgram?.test(file))).to.have.members([
          ...['LICENSE', 'README.md', 'package.json'],
          ...(manifest.name === '@mandate/tool-server' ? ['guard/guard.schema.json'] : []),
        ]);
        const own = (await filesIn(join(root, source))).filter(
          (file) => file.endsWith('.ts') && !file.startsWith('dist/'),
        );
        const packedOwn = files.filter((file) => file.startsWith(`dist/${source}/`) && file.endsWith('.js'));
        expect(packedOwn).to.have.members(own.map((file) => `dist/${source}/${file.replace(/ts$/, 'js')}`));
      });

      it('depends on jose at most, with a program on three more packages, and on no framework: every peer dependency is optional', () => {
        const accepted = ['jose', ...(manifest.bin === undefined ? [] : GUARD_ONLY)];
        expect(accepted).to.include.members(Object.keys(manifest.dependencies ?? {}));
        expect(manifest.optionalDependencies).to.equal(undefined);
        for (const name of Object.keys(manifest.peerDependencies ?? {}))
          expect(manifest.peerDependenciesMeta?.[name]?.optional, name).to.equal(true);
      });

      const limit = LIMITS[manifest.name] ?? { packages: 0, bytes: 0 };
      it(`installs at most ${limit.packages} packages and ${limit.bytes / 1_000_000} MB`, async () => {
        const dependencies = await closureOf(manifest);
        expect(dependencies.length + 1).to.be.at.most(limit.packages);
        const folders = [packed(manifest.name).folder, ...dependencies.map((name) => join(root, 'node_modules', name))];
        const sizes = await Promise.all(folders.map(sizeOf));
        expect(sizes.reduce((sum, size) => sum + size, 0)).to.be.within(10_000, limit.bytes);
      });

      it('has a README of one screen that shows only lines of the examples', async () => {
        const readme = await readFile(join(packed(manifest.name).folder, 'README.md'), 'utf8');
        expect(readme.split('\n').length).to.be.at.most(MAX_README_LINES);
        const shown = [...readme.matchAll(/^<!-- from (\S+) -->\n```ts\n(.*?)^```$/gms)];
        expect(shown).to.have.lengthOf(1);
        for (const [, name = '', code = ''] of shown) {
          const example = (await readFile(join(root, name), 'utf8')).split('\n');
          for (const line of code.split('\n')) expect(example).to.include(line);
        }
        expect(readme).to.include(`npm install ${manifest.name}\n`);
      });
    });
  }

  it('are tested here with every subpath that a library exports', () => {
    const subpaths = libraries.flatMap(({ manifest }) =>
      Object.keys(manifest.exports).map((name) => join(manifest.name, name)),
    );
    expect(subpaths.filter((name) => !name.endsWith('/package.json'))).to.have.members(Object.keys(SUBPATHS));
  });

  describe('in a project with jose only', () => {
    let project: string;
    before(async () => {
      project = await projectWith('bare', names, ['jose', '@types/node', 'undici-types']);
    });

    for (const [name, { loadsPeers }] of Object.entries(SUBPATHS)) {
      if (loadsPeers) continue;
      it(`${name} imports, and loads only files of its package and jose`, async () => {
        const loaded = (await loadedModules(name, { cwd: project })).filter((url) => !url.startsWith('node:'));
        const { manifest } = libraryOf(name);
        expect(loaded.some((url) => url.includes(`/node_modules/${manifest.name}/dist/`))).to.equal(true);
        const isExpected = new RegExp(`/node_modules/(?:${manifest.name}|jose)/`);
        expect(loaded.filter((url) => !isExpected.test(url))).to.deep.equal([]);
      });
    }

    it('run mandate-guard with the packages that it depends on only, and without those of schemas for a file that has none', async () => {
      const guarded = await projectWith('guarded', ['@mandate/tool-server'], ['jose', 'yaml']);
      const ofSchemas = await projectWith('schemas', ['@mandate/tool-server'], ['jose', ...GUARD_ONLY]);
      const { folder, manifest } = packed('@mandate/tool-server');
      const file = join(root, 'docs/examples/guard/proxy.yaml');
      const program = join(guarded, 'node_modules', manifest.name, manifest.bin?.['mandate-guard'] ?? '');
      await run(process.execPath, [program, '--config', file, '--check'], { cwd: guarded });
      await writeFile(
        join(ofSchemas, 'guard.yaml'),
        (await readFile(join(root, 'docs/examples/guard/schemas.yaml'), 'utf8')).replace('approval-key.pem', 'key.pem'),
      );
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      await writeFile(join(ofSchemas, 'key.pem'), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
      const withSchemas = program.replace(guarded, ofSchemas);
      await run(process.execPath, [withSchemas, '--config', 'guard.yaml', '--check'], { cwd: ofSchemas });
      const { stdout } = await run(process.execPath, [program, '--version'], { cwd: guarded });
      expect(stdout).to.equal(`${manifest.version}\n`);
      expect((await readFile(join(folder, manifest.bin?.['mandate-guard'] ?? ''), 'utf8')).split('\n')[0]).to.equal(
        '#!/usr/bin/env node',
      );
    });

    it('have types that resolve for subpaths without a framework', async function () {
      this.timeout(60_000);
      await compiles(
        project,
        Object.values(SUBPATHS).flatMap(({ use, peers }) => (peers === undefined ? [use] : [])),
      );
    });
  });

  for (const [name, { use, peers, skipLibCheck = false }] of Object.entries(SUBPATHS)) {
    if (peers === undefined) continue;
    it(`have types that resolve with the framework of ${name}`, async function () {
      this.timeout(60_000);
      const foreign = ['jose', '@types/node', 'undici-types', ...peers];
      const project = await projectWith(name.replaceAll('/', '-'), [libraryOf(name).manifest.name], foreign);
      await compiles(project, [use], skipLibCheck);
    });
  }

  it('exchange a token, check a request and verify a record with a running service', async function () {
    this.timeout(60_000);
    const project = await projectWith('used', names, ['jose', 'express']);
    const { agentId, agent, auditor } = await useLibraries({ agent: project, toolServer: project, auditor: project });
    expect(agent.errors).to.equal('');
    expect(JSON.parse(agent.output)).to.deep.equal({ key: 'OPS-7', readFor: 'ada', readBy: `agent:${agentId}` });
    expect(auditor.errors).to.equal('');
    expect(auditor.output).to.match(/^Record \d+ is what was sealed\. Keep this mark: \d+:[0-9a-f]{64}\n$/);
  });

  /** Creates a project with these packed packages, and these packages from node_modules. */
  async function projectWith(name: string, own: readonly string[], foreign: readonly string[]): Promise<string> {
    const project = join(folder, name);
    const modules = join(project, 'node_modules');
    await mkdir(modules, { recursive: true });
    await writeFile(join(project, 'package.json'), '{ "type": "module", "private": true }');
    for (const each of own) await cp(packed(each).folder, join(modules, each), { recursive: true });
    for (const each of foreign) {
      await mkdir(dirname(join(modules, each)), { recursive: true });
      await symlink(join(root, 'node_modules', each), join(modules, each), 'junction');
    }
    return project;
  }
});
