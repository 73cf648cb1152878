/**
 * Packs the packages, installs each with its dependencies from the registry into an empty folder, and uses them.
 * packages-offline.test.ts checks the same without the registry.
 */

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startMandate } from '../../scripts/mandate-process.ts';
import { postgres } from '../support/databases.ts';
import { startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { ADMIN_KEY, environmentOf } from '../support/mandate.ts';
import { npm, packEverything, sizeOf } from '../support/packed-packages.ts';
import { useLibraries } from '../support/used-libraries.ts';

const run = promisify(execFile);

/** The maximum number of packages and megabytes of an installation. The service is installed without better-sqlite3. */
const LIMITS: Readonly<Record<string, readonly [packages: number, megabytes: number]>> = {
  '@mandate/agent': [3, 1],
  // The guard reads YAML and validates by schemas (ajv, re2js).
  '@mandate/tool-server': [9, 4.8],
  '@mandate/audit': [1, 0.28],
  mandate: [170, 40],
};

/** npm asks the registry only for packages that its cache lacks. */
const QUIETLY = ['--prefer-offline', '--no-audit', '--no-fund'];

describe('The packages, installed into an empty folder', function () {
  this.timeout(300_000);
  let folder: string;
  const projects = new Map<string, string>();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mandate-installed-'));
    const packages = await packEverything(folder);
    for (const [name, { tarball }] of packages) {
      const project = join(folder, 'projects', name);
      await mkdir(project, { recursive: true });
      await npm(['install', ...QUIETLY, '--omit=optional', tarball], project);
      projects.set(name, project);
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const projectOf = (name: string): string => projects.get(name) ?? expect.fail(`${name} is not installed`);
  for (const [name, [most, megabytes]] of Object.entries(LIMITS)) {
    it(`${name} has at most ${most} packages and ${megabytes} MB`, async () => {
      const packages = await installedIn(projectOf(name));
      const bytes = await Promise.all(packages.map((each) => sizeOf(join(projectOf(name), 'node_modules', each))));
      expect(packages).to.include(name).and.not.to.include('better-sqlite3');
      expect(packages.length).to.be.at.most(most);
      expect(bytes.reduce((sum, each) => sum + each, 0)).to.be.at.most(megabytes * 1_000_000);
    });
  }

  it('exchange a token, check the token, and verify a record of the exchange', async () => {
    await npm(['install', ...QUIETLY, 'express@5'], projectOf('@mandate/tool-server'));
    const { agentId, agent, auditor } = await useLibraries({
      agent: projectOf('@mandate/agent'),
      toolServer: projectOf('@mandate/tool-server'),
      auditor: projectOf('@mandate/audit'),
    });
    expect(agent.errors).to.equal('');
    expect(JSON.parse(agent.output)).to.deep.equal({ key: 'OPS-7', readFor: 'ada', readBy: `agent:${agentId}` });
    expect(auditor.errors).to.equal('');
    expect(auditor.output).to.match(/^Record \d+ is what was sealed\./);
  });

  it('serve on Postgres: mandate migrates, serves, and ends', async () => {
    const project = projectOf('mandate');
    const { stdout } = await run('npx', ['--no', '--', 'mandate', '--version'], { cwd: project });
    const { version } = JSON.parse(await readFile(join(project, 'node_modules/mandate/package.json'), 'utf8'));
    expect(stdout.trim()).to.equal(version);
    const database = await postgres.fresh('absent');
    const provider = await startIdentityProvider();
    const settings = environmentOf({
      ...database.settings,
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:Admin:ApiKey': ADMIN_KEY,
      NODE_ENV: 'development',
    });
    const mandate = await startMandate(settings, project, [join(project, 'node_modules', '.bin', 'mandate')]);
    const metadata = await fetch(`${mandate.issuer}/.well-known/oauth-authorization-server`);
    expect(await metadata.json()).to.include({ issuer: mandate.issuer });
    await mandate.stop();
    await provider.stop();
    await database.drop();
  });

  it('have a parts list with every installed package, made as docs/releasing.md says', async () => {
    const project = projectOf('mandate');
    await npm(['pkg', 'set', 'name=parts', 'version=1.0.0'], project);
    const { components } = JSON.parse(await npm(['sbom', '--sbom-format', 'cyclonedx'], project));
    const installed = new Set((await installedIn(project)).map((path) => path.replace(/^.*node_modules\//, '')));
    const named = new Set((components as readonly { readonly name: string }[]).map(({ name }) => name));
    expect([...installed].filter((name) => !named.has(name))).to.deep.equal([]);
  });
});

/** The names of all packages that npm installed in a project, including nested ones. */
async function installedIn(project: string): Promise<readonly string[]> {
  const lock = JSON.parse(await readFile(join(project, 'node_modules', '.package-lock.json'), 'utf8'));
  return Object.keys(lock.packages).map((path) => path.replace(/^node_modules\//, ''));
}
