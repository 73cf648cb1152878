/** The quickstart as a process: its options, the provider alone, and its end when the terminal is closed. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { freePort } from '../../../scripts/free-port.ts';
import { asProgram, fromSource } from '../../../scripts/from-source.ts';
import { eventually } from '../../support/eventually.ts';
import { byLength } from '../../support/length.ts';

const at = (path: string) => new URL(`../../../${path}`, import.meta.url);
const MAIN = fileURLToPath(at('scripts/quickstart/main.ts'));

interface Run {
  readonly child: ChildProcess;
  readonly ended: Promise<{ readonly code: unknown; readonly out: string; readonly err: string }>;
  said(): string;
}

function run(...args: readonly string[]): Run {
  const child = spawn(process.execPath, [...fromSource, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = once(child, 'close').then(([code]) => ({ code, out, err }));
  return { child, ended, said: () => out };
}

const isOpen = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

describe('npm run quickstart', function () {
  this.timeout(60_000);
  const runs: Run[] = [];
  const start = (...args: readonly string[]): Run => {
    const started = run(...args);
    runs.push(started);
    return started;
  };
  after(() => {
    for (const { child } of runs) child.kill('SIGKILL');
  });

  it('runs the provider alone, and prints the access token of a person there until SIGHUP ends it', async () => {
    const port = await freePort();
    const provider = start(MAIN, '--provider', '--port', String(port));
    await eventually(async () => provider.said().includes(`--token grace --port ${port}`));
    expect(provider.said()).to.match(new RegExp(`Service__UpstreamIdp__Issuer +http://127\\.0\\.0\\.1:${port}\n`));
    expect(provider.said()).to.match(/Service__Me__ClientId +mandate-page \(/);
    const [token, unknown, again] = await Promise.all([
      start(MAIN, '--token', 'ada', '--port', String(port)).ended,
      start(MAIN, '--token', 'nobody', '--port', String(port)).ended,
      start(MAIN, '--provider', '--port', String(port)).ended,
    ]);
    expect(decodeJwt(token.out.trim())).to.include({
      iss: `http://127.0.0.1:${port}`,
      aud: 'https://mandate.example',
      sub: 'ada',
      scope: 'jira:read jira:comment calendar:read',
    });
    expect([token.code, token.err]).to.deep.equal([0, '']);
    expect(unknown).to.deep.include({ code: 2, out: '' });
    expect(unknown.err).to.match(/ knows ada, grace, edsger\.\n$/);
    expect(again).to.deep.include({ code: 1, out: '' });
    expect(again.err).to.match(/^\nPort \d+ is taken\. [^\n]+\n$/);
    provider.child.kill('SIGHUP');
    expect((await provider.ended).code).to.equal(0);
    const late = await start(MAIN, '--token', 'ada', '--port', String(port)).ended;
    expect([late.code, late.out]).to.deep.equal([1, '']);
    expect(late.err).to.match(/^There is no provider at http:\/\/127\.0\.0\.1:\d+\. Start it [^\n]+\n$/);
  });

  it('refuses options that it does not have, or that do not fit together', async () => {
    const all = [['--twice'], ['--once', '--provider'], ['--port', '5400'], ['--provider', '--port', 'x'], ['now']];
    const lines = byLength({ short: all.slice(1, 2), full: all });
    for (const { code, out, err } of await Promise.all(lines.map((line) => start(MAIN, ...line).ended))) {
      expect([code, out]).to.deep.equal([2, '']);
      expect(err).to.match(/^The quickstart has the options --once, or --provider, or --token NAME;[^\n]+\n$/);
    }
  });

  it('ends with Mandate and its servers at SIGHUP, also if the terminal takes no output any more', async () => {
    const program = JSON.stringify(asProgram(at('composition/main.ts')));
    const source = `import { runQuickstart } from '${at('scripts/quickstart/run.ts').href}';
      process.exitCode = await runQuickstart(false, ${program});`;
    const quickstart = start('--input-type=module', '--eval', source);
    let issuer = '';
    await eventually(async () => {
      issuer = /sent to (http:\/\/127\.0\.0\.1:\d+)/.exec(quickstart.said())?.[1] ?? '';
      return issuer !== '';
    });
    expect(await isOpen(issuer)).to.equal(true);
    quickstart.child.stdout?.destroy();
    quickstart.child.stderr?.destroy();
    quickstart.child.kill('SIGHUP');
    const [code] = await once(quickstart.child, 'exit');
    expect(code).to.equal(130);
    expect(await isOpen(issuer)).to.equal(false);
  });
});
