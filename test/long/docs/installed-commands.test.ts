/** The form in which the pages write commands runs what is installed, and downloads nothing. */

import { exec, execFile } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { startRegistry } from '../../support/local-registry.ts';
import { service } from '../../support/packed-packages.ts';

describe('The commands of the pages', () => {
  it('run what is installed, and nothing from a registry', async function () {
    this.timeout(60_000);
    const folder = await mkdtemp(join(tmpdir(), 'mandate-npx-'));
    const [theirs, empty, ours] = ['package', 'empty', 'ours'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const path of [theirs, empty, join(ours, 'node_modules/.bin')]) await mkdir(path, { recursive: true });
    const manifest = { ...service.manifest, name: 'mandate', version: '9.9.9', bin: { mandate: 'run.js' } };
    const bare = { name: manifest.name, version: manifest.version, bin: manifest.bin };
    await writeFile(join(theirs, 'package.json'), JSON.stringify(bare));
    await writeFile(
      join(theirs, 'run.js'),
      "#!/usr/bin/env node\nconsole.log('ran', process.argv.slice(2).join(' '));\n",
    );
    const tarball = join(folder, 'mandate-9.9.9.tgz');
    // As npm packs and installs it, which takes a second of CPU time.
    await promisify(execFile)('tar', ['-czf', tarball, '-C', folder, 'package']);
    const registry = await startRegistry(new Map([['mandate', { manifest, source: '', tarball, folder: theirs }]]));
    const npx = (command: string, cwd: string) =>
      promisify(exec)(command, {
        cwd,
        env: { ...process.env, npm_config_registry: registry.url, npm_config_cache: join(folder, 'cache') },
      }).catch((error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error);
    try {
      const refused = await npx('npx --no mandate serve', empty);
      expect(refused).to.include({ code: 1, stdout: '' });
      expect(refused.stderr).to.include('npx canceled due to missing packages').and.include('mandate@9.9.9');
      // The registry has a package that would run.
      expect((await npx('npx --yes mandate serve', empty)).stdout).to.equal('ran serve\n');

      await writeFile(join(ours, 'package.json'), '{}');
      await cp(theirs, join(ours, 'node_modules/mandate'), { recursive: true });
      await chmod(join(ours, 'node_modules/mandate/run.js'), 0o755);
      await symlink('../mandate/run.js', join(ours, 'node_modules/.bin/mandate'));
      await registry.stop();
      // The pages write the last one.
      for (const form of ['npx --no -- mandate doctor --json', 'npx --no mandate doctor --json']) {
        expect((await npx(form, ours)).stdout).to.equal('ran doctor --json\n');
      }
    } finally {
      await registry.stop();
      await rm(folder, { recursive: true });
    }
  });
});
