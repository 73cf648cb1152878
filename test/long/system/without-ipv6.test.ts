/**
 * `HOST` is `::` in a process for which the kernel has no IPv6: test/support/without-ipv6.py. Linux on x64 only.
 *
 * test/long/docs/chart-pods.ts has the same with IPv6.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import { type CommandProcess, runCommand, startCommand } from '../../support/command-process.ts';
import { type FreshDatabase, sqliteFile } from '../../support/databases.ts';
import { writtenLog } from '../../support/log/written-log.ts';
import { OPERATORS } from '../../support/operators.ts';

const WITHOUT_IPV6 = `exec python3 ${fileURLToPath(new URL('../../support/without-ipv6.py', import.meta.url))} "$@"`;

describe('Without IPv6', function () {
  this.timeout(60_000);
  let folder: string;
  let database: FreshDatabase;
  before(async function () {
    if (process.platform !== 'linux' || process.arch !== 'x64') return this.skip();
    folder = mkdtempSync(join(tmpdir(), 'mandate-without-ipv6-'));
    database = await sqliteFile.fresh();
  });
  after(async () => {
    await database?.drop();
    if (folder !== undefined) rmSync(folder, { recursive: true });
  });

  const stopped = async ({ child, ended }: CommandProcess) => {
    child.kill('SIGTERM');
    return ended;
  };
  const statusOf = async (port: number, path: string, method = 'GET') =>
    (await fetch(`http://127.0.0.1:${port}${path}`, { method })).status;
  const settings = () => ({
    ...database.settings,
    'Service:Issuer': 'https://mandate.example',
    'Service:UpstreamIdp:Issuer': 'http://127.0.0.1:9',
    'Service:UpstreamIdp:Audience': 'https://mandate.example',
    'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
    NODE_ENV: 'development',
  });

  it('HOST=:: is 0.0.0.0 for the service, the console and the metrics, and the log says so once', async () => {
    const [port, metricsPort, consolePort] = [await freePort(), await freePort(), await freePort()];
    const more = {
      ...OPERATORS,
      'Service:Operators:ClientId': 'console',
      'Service:Console:Port': String(consolePort),
      'Service:Console:Origin': 'https://console.mandate.example',
      'Service:Metrics:Port': String(metricsPort),
    };
    const serving = startCommand(['serve'], { ...settings(), ...more, HOST: '::', PORT: String(port) }, WITHOUT_IPV6);
    await serving.said('"listening"');
    expect([
      await statusOf(port, '/healthz'),
      await statusOf(consolePort, '/', 'OPTIONS'),
      await statusOf(metricsPort, '/metrics'),
    ]).to.deep.equal([200, 204, 200]);
    const { code, out, err } = await stopped(serving);
    expect([code, err]).to.deep.equal([0, '']);
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.find(({ message }) => message === 'listening')).to.include({ host: '0.0.0.0', port });
    expect(lines.filter(({ message }) => /no IPv6/.test(message))).to.have.lengthOf(1);
  });

  for (const [what, setting, host] of [
    ['the service', 'PORT', '::1'],
    ['the metrics', 'Service:Metrics:Port', 'fd00::1'],
  ] as const) {
    it(`another IPv6 address as HOST is refused with one sentence by ${what}`, async () => {
      const { code, err } = await runCommand(
        ['serve'],
        { ...settings(), HOST: host, [setting]: String(await freePort()) },
        WITHOUT_IPV6,
      );
      expect([code, err]).to.deep.equal([1, 'mandate: HOST is an IPv6 address, and this machine has no IPv6.\n']);
    });
  }

  it('a witness with --host :: listens on 0.0.0.0', async () => {
    const port = await freePort();
    const files = ['--key', join(folder, 'witness.pem'), '--state', join(folder, 'witness.db')];
    const made = await runCommand(['witness', 'init', ...files, '--name', 'w.test']);
    expect(made.code, made.err).to.equal(0);
    const log = ['--log', writtenLog('log.test/ledger').vkey];
    const line = ['witness', 'serve', ...files, ...log, '--host', '::', '--port', String(port)];
    const serving = startCommand(line, {}, WITHOUT_IPV6);
    await serving.said('"listening"');
    expect(await statusOf(port, '/healthz')).to.equal(200);
    expect((await stopped(serving)).code).to.equal(0);
  });
});
