import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { byLength } from '../../support/length.ts';

/** A temporary project whose only package is a local folder, so that npm installs it without the registry. */
function project(engine = '>=20.19') {
  const root = mkdtempSync(join(tmpdir(), 'mandate-install-'));
  const write = (path: string, value: unknown) => writeFileSync(join(root, path), JSON.stringify(value));
  for (const folder of ['scripts', 'part']) mkdirSync(join(root, folder));
  copyFileSync('scripts/ensure-installed.mjs', join(root, 'scripts/ensure-installed.mjs'));
  write('package.json', {
    name: 'host',
    version: '1.0.0',
    engines: { node: engine },
    dependencies: { part: 'file:part' },
  });
  write('part/package.json', { name: 'part', version: '1.0.0' });
  const lockWith = (extra: object) =>
    write('package-lock.json', {
      name: 'host',
      version: '1.0.0',
      lockfileVersion: 3,
      requires: true,
      packages: {
        '': { name: 'host', version: '1.0.0', dependencies: { part: 'file:part' }, engines: { node: engine } },
        'node_modules/part': { resolved: 'part', link: true },
        part: { version: '1.0.0', ...extra },
      },
    });
  lockWith({});
  return { root, lockWith };
}

const script = 'scripts/ensure-installed.mjs';
const stampOf = (root: string) => join(root, 'node_modules/.mandate-installed');
const run = (root: string) => spawnSync(process.execPath, [script], { cwd: root, encoding: 'utf8' });

describe('ensure-installed', () => {
  const roots: string[] = [];
  const fresh = (engine?: string) => {
    const made = project(engine);
    roots.push(made.root);
    return made;
  };
  after(() => {
    for (const root of roots) rmSync(root, { recursive: true, force: true });
  });

  it('installs what is missing or has changed, accepts what is there, and does nothing the next time', function () {
    this.timeout(60_000);
    const { root, lockWith } = fresh();
    const first = run(root);
    expect(first.stderr).to.contain('Installing packages (npm ci).');
    expect([first.status, first.stdout]).to.deep.equal([0, '']);
    expect(existsSync(join(root, 'node_modules/part/package.json'))).to.equal(true);
    expect(existsSync(join(root, '.mandate/installing'))).to.equal(false);
    expect(run(root)).to.include({ status: 0, stdout: '', stderr: '' });

    // It accepts packages that were installed by hand, and takes over the lock of a dead process.
    rmSync(stampOf(root));
    // The id of a process that has already ended.
    writeFileSync(join(root, '.mandate/installing'), String(spawnSync(process.execPath, ['-e', '']).pid));
    expect(run(root)).to.include({ status: 0, stderr: '' });
    expect(readFileSync(stampOf(root), 'utf8')).to.match(/^[0-9a-f]{64}$/);
    expect(existsSync(join(root, '.mandate/installing'))).to.equal(false);

    // It installs again if the lock file has changed, or if the stamp is from another machine.
    const changes = [() => lockWith({ license: 'Apache-2.0' }), () => writeFileSync(stampOf(root), 'another')];
    for (const change of byLength({ short: changes.slice(0, 1), full: changes })) {
      change();
      writeFileSync(join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages: {} }));
      expect(run(root).stderr).to.contain('npm ci');
    }
    expect(run(root).stderr).to.equal('');
  });

  it('installs once if two processes run at the same time', async function () {
    this.timeout(60_000);
    const { root } = fresh();
    const runs = [1, 2].map(
      () =>
        new Promise<string>((resolve) => {
          const child = spawn(process.execPath, [script], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
          let output = '';
          child.stderr.on('data', (chunk) => {
            output += String(chunk);
          });
          child.on('close', (code) => resolve(`${code} ${output}`));
        }),
    );
    const results = await Promise.all(runs);
    expect(results.every((each) => each.startsWith('0 '))).to.equal(true);
    expect(results.filter((each) => each.includes('Installing packages'))).to.have.length(1);
  });

  it('names the required version of Node', () => {
    const { root } = fresh('>=99.1');
    expect(run(root)).to.include({
      status: 1,
      stdout: '',
      stderr: `Mandate needs Node 99.1 or newer; this is ${process.versions.node}.\n`,
    });
  });

  it('fails if the optional native package cannot be loaded after npm ci', function () {
    this.timeout(60_000);
    const { root } = fresh();
    // Installs a package without code, as a failed compilation leaves it.
    const manifest = { name: 'host', version: '1.0.0', engines: { node: '>=20.19' } };
    const optionalDependencies = { 'better-sqlite3': 'file:part' };
    writeFileSync(join(root, 'package.json'), JSON.stringify({ ...manifest, optionalDependencies }));
    const packages = {
      '': { ...manifest, optionalDependencies },
      'node_modules/better-sqlite3': { resolved: 'part', link: true },
      part: { name: 'better-sqlite3', version: '1.0.0', optional: true },
    };
    writeFileSync(join(root, 'part/package.json'), JSON.stringify({ name: 'better-sqlite3', version: '1.0.0' }));
    writeFileSync(
      join(root, 'package-lock.json'),
      JSON.stringify({ name: 'host', version: '1.0.0', lockfileVersion: 3, requires: true, packages }),
    );
    const failed = run(root);
    expect(failed.status).to.equal(1);
    expect(failed.stderr).to.contain('better-sqlite3 cannot be loaded after npm ci: is there no C++ compiler');
    expect(existsSync(stampOf(root))).to.equal(false);
  });

  it('fails if npm fails, and leaves neither stamp nor lock', function () {
    this.timeout(60_000);
    const { root } = fresh();
    writeFileSync(
      join(root, 'package.json'),
      JSON.stringify({ name: 'host', engines: { node: '>=20.19' }, dependencies: { other: 'file:other' } }),
    );
    const failed = run(root);
    expect(failed.status).to.equal(1);
    expect(failed.stderr).to.contain('npm ci failed (exit code 1).');
    expect([stampOf(root), join(root, '.mandate/installing')].filter(existsSync)).to.deep.equal([]);
  });
});
