/**
 * Runs `mandate` on versions of Node, including one that cannot parse the rest of the program, and with an output that is
 * full.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { asProgram } from '../../scripts/from-source.ts';
import { runCommand, startCommand } from '../support/command-process.ts';

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const MAIN = at('composition/main.ts');
const GUARD = at('composition/guard/mandate-guard.ts');
const { engines } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as { engines: { node: string } };
const oldest = engines.node.replace('>=', '');

function runOn(version: string, program = MAIN) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  const options = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, ...asProgram(program)];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...options, '--version'], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('mandate', function () {
  this.timeout(30_000);

  for (const version of ['20.18.3', '18.20.8', '14.21.3']) {
    it(`names the required version on Node ${version}, and exits with 1`, () => {
      expect(runOn(version)).to.deep.equal({
        status: 1,
        stdout: '',
        stderr: `mandate: Mandate needs Node ${oldest} or newer; this is ${version}.\n`,
      });
    });
  }

  for (const version of [`${oldest}.0`, '21.0.0', '24.1.0']) {
    it(`runs on Node ${version}`, () => {
      expect(runOn(version)).to.include({ status: 0, stderr: '' });
    });
  }

  it('is as strict about its version as mandate-guard', () => {
    const needed = `mandate-guard: The guard needs Node ${oldest} or newer; this is 18.20.8.\n`;
    expect(runOn('18.20.8', GUARD)).to.deep.equal({ status: 1, stdout: '', stderr: needed });
    expect(runOn(`${oldest}.0`, GUARD)).to.include({ status: 0, stderr: '' });
  });

  it('starts with files that an old Node can parse: without other static imports and newer syntax', () => {
    const codeOf = (file: string) => readFileSync(file, 'utf8').replace(/\/\*\*.*?\*\//gs, '');
    for (const [program, loaded, check] of [
      [MAIN, './commands/command-line.ts', './on-supported-node.ts'],
      [GUARD, './guard-line.ts', '../on-supported-node.ts'],
    ] as const) {
      const lines = codeOf(program).split('\n');
      expect(lines).to.include(`  import('${loaded}');`);
      const isImport = (line: string) => /^\s*(import [^(]|export )/.test(line);
      expect(lines.filter(isImport)).to.deep.equal([`import { onSupportedNode } from '${check}';`]);
    }
    const check = codeOf(at('composition/on-supported-node.ts'));
    expect(check).not.to.match(/^\s*import\b|\bimport\(/m);
    for (const code of [codeOf(MAIN), codeOf(GUARD), check]) expect(code).not.to.match(/\?\?|\?\.|\bawait\b|\|\|=|&&=/);
  });

  it('says in a sentence that its help could not be written, and takes a reader that leaves for no fault', async () => {
    const { child, ended } = startCommand(['--help'], {});
    child.stdout?.destroy();
    expect(await ended).to.deep.equal({ code: 0, out: '', err: '' });
    if (!existsSync('/dev/full')) return;
    expect(await runCommand(['--help'], {}, 'exec > /dev/full')).to.deep.equal({
      code: 1,
      out: '',
      err: 'mandate: The report could not be written to standard output.\n',
    });
  });
});
