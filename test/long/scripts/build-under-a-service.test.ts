/** `scripts/bundle.mjs` builds into the folder from which a service runs: the service goes on, also with code that it loads later. */

import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type MandateProcess, startMandate } from '../../../scripts/mandate-process.ts';
import { type FreshDatabase, sqliteFile } from '../../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../../support/identity-provider/identity-provider.ts';
import { environmentOf } from '../../support/mandate.ts';
import { filesIn, LAYERS, root } from '../../support/packed-packages.ts';

const BUNDLE = 'scripts/bundle.mjs';
/** Code of the first request to the sign-in, and code that almost every file of the bundle has. */
const LOADED_LATER = 'adapters/identity-provider/sign-in.ts';
const EVERYWHERE = 'domain/tokens/strict-json.ts';

describe('A build in the folder of a running service', function () {
  this.timeout(120_000);
  let clone: string;
  let database: FreshDatabase;
  let provider: IdentityProvider;
  let mandate: MandateProcess;
  before(async () => {
    clone = mkdtempSync(join(tmpdir(), 'mandate-rebuilt-'));
    for (const name of [...LAYERS, 'package.json', BUNDLE]) {
      mkdirSync(join(clone, name, '..'), { recursive: true });
      cpSync(join(root, name), join(clone, name), { recursive: true });
    }
    symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'junction');
    [database, provider] = await Promise.all([sqliteFile.fresh('absent'), startIdentityProvider()]);
    expect(spawnSync(process.execPath, [BUNDLE], { cwd: clone }).status).to.equal(0);
    const settings = environmentOf({
      ...database.settings,
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:Me:ClientId': 'mandate-page',
      NODE_ENV: 'development',
    });
    mandate = await startMandate(settings, clone, [join(clone, 'dist/composition/main.js')]);
  });
  after(async () => {
    await mandate?.stop();
    await Promise.all([database.drop(), provider.stop()]);
    rmSync(clone, { recursive: true });
  });

  const get = (path: string) => fetch(`${mandate.issuer}${path}`, { redirect: 'manual' });
  const bundled = async () => (await filesIn(join(clone, 'dist'))).filter((file) => file.endsWith('.js'));
  /** Builds from other sources than before, so that the names of almost all files differ. */
  async function rebuild(meanwhile: () => Promise<void>, ...options: readonly string[]): Promise<void> {
    for (const file of [LOADED_LATER, EVERYWHERE])
      appendFileSync(join(clone, file), `console.debug(${Math.random()});\n`);
    const child = spawn(process.execPath, [BUNDLE, ...options], { cwd: clone, stdio: 'inherit' });
    while (child.exitCode === null) await meanwhile();
    expect(child.exitCode).to.equal(0);
  }

  it('takes no file from a service, nor from a start, at any moment', async () => {
    const before = await bundled();
    await rebuild(async () => {
      for (const file of before) expect(existsSync(join(clone, 'dist', file)), file).to.equal(true);
      expect((await get('/healthz')).status).to.equal(200);
    });
    const after = await bundled();
    expect(after).to.include.members(before);
    expect(after.length, 'the build has other files').to.be.greaterThan(before.length + 3);
    expect((await filesIn(clone)).filter((file) => /^dist\.\d/.test(file))).to.deep.equal([]);
  });

  it('leaves the code that the service loads at its first sign-in, and the assets of its pages', async () => {
    const signIn = await get('/me/sign-in');
    expect([signIn.status, signIn.headers.get('location')?.startsWith(provider.issuer)]).to.deep.equal([302, true]);
    const page = await (await get('/me/signed-out')).text();
    const assets = [...page.matchAll(/(?:href|src)="([^"]+\.(?:css|js|svg)[^"]*)"/g)].map(([, path = '']) => path);
    expect(assets).not.to.deep.equal([]);
    for (const path of assets) expect((await get(path)).status, path).to.equal(200);
  });

  it('starts the new program next', async () => {
    const version = spawnSync(process.execPath, [join(clone, 'dist/composition/main.js'), '--version']);
    expect([version.status, String(version.stderr)]).to.deep.equal([0, '']);
  });

  it('removes the files of earlier builds, and for a package all but its own', async () => {
    const second = await bundled();
    await rebuild(async () => void (await get('/healthz')));
    const third = await bundled();
    expect(third.length).to.equal(second.length);
    await rebuild(async () => void (await get('/healthz')), '--clean');
    const clean = await bundled();
    expect(clean.length).to.be.lessThan(third.length - 3);
    const version = spawnSync(process.execPath, [join(clone, 'dist/composition/main.js'), '--version']);
    expect(version.status).to.equal(0);
  });
});
