/** Runs `mandate` on versions of Node, including one that cannot parse the rest of the program. */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { fromSource } from '../../scripts/from-source.ts';

const at = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const MAIN = at('composition/main.ts');
const { engines } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as { engines: { node: string } };
const oldest = engines.node.replace('>=', '');

function runOn(version: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`;
  const options = [...fromSource, '--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, [...options, MAIN, '--version'], { encoding: 'utf8' });
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

  it('starts with a file that an old Node can parse: without static imports and newer syntax', () => {
    const code = readFileSync(MAIN, 'utf8').replace(/\/\*\*.*?\*\//gs, '');
    expect(code).to.match(/^\s*import\('\.\/command-line\.ts'\);$/m);
    expect(code).not.to.match(/^\s*(import [^(]|export )/m);
    expect(code).not.to.match(/\?\?|\?\.|\bawait\b|\|\|=|&&=/);
  });
});
