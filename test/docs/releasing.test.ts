/**
 * All pages write the command in the same form, which test/long/docs/installed-commands.test.ts runs. The commands of
 * docs/releasing.md work.
 */

import { exec, execFile } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { byLength } from '../support/length.ts';
import { libraries, npm, root, service } from '../support/packed-packages.ts';
import { pages } from '../support/pages/page.ts';
import { blocksRunBy } from '../support/pages/run-by.ts';

/** Whether the commands of npm run that take a second of CPU time each. */
const isFull = byLength({ short: false, full: true });
const text = (path: string) => readFile(join(root, path), 'utf8');
/** The lines of a page's shell blocks. */
const shellLines = (page: string) =>
  [...page.matchAll(/^ *```sh\n(.*?)^ *```$/gms)].flatMap(([, block = '']) => block.split('\n'));

/** A command without npx, at the start of a line or after variables, but not the image after `docker run`. */
const OTHER_FORM = /^\s*(?:\S+=\S* )*(?:mandate|node dist\/composition\/main\.js) /;

/** A runner of packages with what it runs: flags, and one of our names. `npx` alone downloads what is not installed. */
const RUNNER = /\b(npx|npm (?:exec|x)|bunx|(?:pnpm|yarn) dlx)((?:\s+-\S*)*)\s+(?:mandate\b|@mandate\/)/g;
const isSafe = (runner: string, flags: string) => runner === 'npx' && /^\s+--no(?:\s+--)?$/.test(flags);

/** Everything that shows a command to a user, or runs one: pages, examples, help, sentences of the service, scripts. */
const shown = [
  '.ci',
  'adapters',
  'application',
  'composition',
  'docs',
  'domain',
  'scripts',
  'Dockerfile',
  'package.json',
]
  .flatMap((path) =>
    statSync(join(root, path)).isFile()
      ? [path]
      : readdirSync(join(root, path), { recursive: true, encoding: 'utf8' }).map((name) => join(path, name)),
  )
  .filter((path) => !path.includes('node_modules') && statSync(join(root, path)).isFile());

describe('The commands of the pages', () => {
  it('are all written as npx --no mandate, and never as a form that downloads the package of others', async () => {
    const faults: string[] = [];
    let safe = 0;
    for (const path of new Set([...pages, ...shown])) {
      for (const [found, runner = '', flags = ''] of (await text(path)).matchAll(RUNNER)) {
        if (isSafe(runner, flags)) safe += 1;
        else faults.push(`${path}: ${found}`);
      }
    }
    expect(faults).to.deep.equal([]);
    expect(safe).to.be.greaterThan(50);
  });

  it('of shell blocks are all in this form', async () => {
    const faults: string[] = [];
    let written = 0;
    for (const path of pages) {
      const lines = shellLines(await text(path));
      faults.push(...lines.filter((line) => OTHER_FORM.test(line)).map((line) => `${path}: ${line}`));
      written += lines.filter((line) => /^\s*npx --no mandate /.test(line)).length;
    }
    expect(faults).to.deep.equal([]);
    expect(written).to.be.greaterThan(15);
  });

  it('install packages by name, and until the first release the pages say how to make them', async () => {
    const isUnreleased = (await text('CHANGELOG.md')).includes('Nothing has been released.');
    for (const [path, note] of [
      ['docs/getting-started.md', '**Nothing has been released yet.**'],
      ['README.md', 'not released yet'],
      ['docs/deploying.md', 'not released yet'],
    ] as const) {
      expect((await text(path)).includes(note), path).to.equal(isUnreleased);
    }
  });

  it('are of packages that say what they are for, and from the first release on where they come from', async () => {
    const isUnreleased = (await text('CHANGELOG.md')).includes('Nothing has been released.');
    for (const { name, description, keywords, ...links } of [service, ...libraries].map(({ manifest }) => manifest)) {
      expect(description, name).to.match(/^[A-Z].+\.$/);
      expect(keywords, name).to.include.members(['mandate', 'agent']);
      for (const field of ['repository', 'homepage', 'bugs'])
        expect(field in links, `${field} of ${name}`).to.equal(!isUnreleased);
    }
  });

  describe('of docs/releasing.md', () => {
    let folder: string;
    const manifests = ['package.json', ...libraries.map(({ source }) => `${source}/package.json`)];
    const api = 'adapters/http/openapi.json';
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'mandate-releasing-'));
      for (const path of [...manifests, 'package-lock.json', api]) {
        await mkdir(dirname(join(folder, path)), { recursive: true });
        await cp(join(root, path), join(folder, path));
      }
    });
    afterEach(() => rm(folder, { recursive: true }));

    it('write the public address into every package.json, and nothing else', async function () {
      this.timeout(60_000);
      const [commands] = blocksRunBy('test/docs/releasing.test.ts', 'docs/releasing.md');
      await promisify(execFile)('bash', ['-ec', commands?.text ?? 'exit 1'], { cwd: folder });
      const address = 'https://git.example/mandate';
      for (const path of manifests) {
        const directory = dirname(path);
        expect(JSON.parse(await readFile(join(folder, path), 'utf8')), path).to.deep.equal({
          ...JSON.parse(await text(path)),
          repository: { type: 'git', url: `git+${address}.git`, ...(directory !== '.' && { directory }) },
          homepage: `${address}#readme`,
          bugs: { url: `${address}/issues` },
        });
      }
    });

    it('write the version into every package.json, the lock file and the OpenAPI document, and nothing else', async function () {
      this.timeout(60_000);
      const page = shellLines(await text('docs/releasing.md')).map((line) => line.trim());
      const commands = page.filter((line) => /^npm (version|install --package-lock-only)/.test(line));
      expect(commands).to.have.lengthOf(2);
      const edits = page.filter((line) => line.startsWith('sed '));
      expect(edits).to.have.lengthOf(1);
      for (const edit of edits) await promisify(exec)(edit, { cwd: folder });
      const document = JSON.parse(await text(api));
      document.info.version = '0.2.0';
      expect(JSON.parse(await readFile(join(folder, api), 'utf8'))).to.deep.equal(document);
      if (!isFull) return;
      for (const command of commands) await npm([...command.split(' ').slice(1), '--offline'], folder);

      for (const path of manifests) {
        const before = JSON.parse(await text(path));
        expect(JSON.parse(await readFile(join(folder, path), 'utf8'))).to.deep.equal({ ...before, version: '0.2.0' });
      }
      const lock = JSON.parse(await readFile(join(folder, 'package-lock.json'), 'utf8'));
      const expected = JSON.parse(await text('package-lock.json'));
      expected.version = '0.2.0';
      for (const key of ['', ...libraries.map(({ source }) => source)]) expected.packages[key].version = '0.2.0';
      expect(lock).to.deep.equal(expected);
    });

    it('name a script of package.json after each `npm run`', async () => {
      const { scripts } = JSON.parse(await text('package.json')) as { scripts: Record<string, string> };
      const named = [...(await text('docs/releasing.md')).matchAll(/`npm run ([a-z:]+)`/g)].map(
        ([, name = '']) => name,
      );
      expect(named).to.include('test:long');
      for (const name of named) expect(scripts).to.have.property(name);
    });
  });
});
