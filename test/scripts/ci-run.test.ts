import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { byLength } from '../support/length.ts';

interface Project {
  readonly tests: string;
  /** A second test file, which a parallel process runs. */
  readonly parallel?: string;
  readonly typecheck?: string;
  readonly lint?: string;
  /** Instead of the budget of CPU seconds in .ci/run. */
  readonly budget?: string;
}

/** Runs .ci/run in a project with these tests and checks. Returns its exit code and the lines of its output. */
function outputOf({ tests, parallel, typecheck = 'true', lint = 'true', budget }: Project) {
  const root = mkdtempSync(join(tmpdir(), 'mandate-ci-'));
  try {
    cpSync('.ci', join(root, '.ci'), { recursive: true });
    symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
    mkdirSync(join(root, 'test'));
    writeFileSync(join(root, 'test/a.test.cjs'), tests);
    if (parallel !== undefined) writeFileSync(join(root, 'test/b.test.cjs'), parallel);
    const test = `mocha ${parallel === undefined ? '' : '--parallel --jobs 2'} test/*.cjs`;
    writeFileSync(join(root, 'package.json'), JSON.stringify({ scripts: { test, typecheck, lint } }));
    const run = join(root, '.ci/run');
    if (budget !== undefined) {
      writeFileSync(run, readFileSync(run, 'utf8').replace(/^cpu_budget=\d+$/m, `cpu_budget=${budget}`));
    }
    const { status, stdout } = spawnSync('bash', [run], { cwd: tmpdir(), encoding: 'utf8' });
    return { status, lines: stdout.trimEnd().split('\n') };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** The exit code and the last line of the output. */
function ciRun(project: Project): readonly [number | null, string | undefined] {
  const { status, lines } = outputOf(project);
  return [status, lines.at(-1)];
}

const passing = "it('a', () => {}); it('b', () => {});";

describe('.ci/run', function () {
  this.timeout(60_000);

  const runs: readonly (readonly [string, Project, number, string])[] = [
    ['counts the tests and the two checks', { tests: passing }, 0, '4 passed, 0 failed'],
    [
      'fails if a test fails, and still runs the checks',
      { tests: `${passing} it('c', () => { throw new Error('no'); });`, lint: 'false' },
      1,
      '3 passed, 2 failed',
    ],
    ['fails if a check fails', { tests: passing, typecheck: 'false' }, 1, '3 passed, 1 failed'],
    ['fails without a test', { tests: '' }, 1, '2 passed, 1 failed'],
    [
      'fails if the test process exits early',
      { tests: `${passing} it('c', () => process.exit(0));` },
      1,
      '2 passed, 1 failed',
    ],
    [
      'fails if a test is exclusive (it.only)',
      { tests: `${passing} it.only('c', () => {});` },
      1,
      '2 passed, 1 failed',
    ],
    ['fails if all tests are skipped', { tests: "it.skip('a', () => {});" }, 1, '2 passed, 1 failed'],
    ['does not count skipped tests', { tests: `${passing} it.skip('c', () => {});` }, 0, '4 passed, 0 failed'],
    ['counts the tests of parallel processes', { tests: passing, parallel: passing }, 0, '6 passed, 0 failed'],
    [
      'fails if a file of a parallel process cannot be loaded',
      { tests: passing, parallel: "import { missing } from 'node:fs';" },
      1,
      '4 passed, 1 failed',
    ],
    [
      'fails if one of several processes exits early',
      { tests: passing, parallel: `${passing} it('c', () => process.exit(0));` },
      1,
      '4 passed, 1 failed',
    ],
    [
      'fails if a test of a parallel process is exclusive (it.only)',
      { tests: passing, parallel: `${passing} it.only('c', () => {});` },
      1,
      '4 passed, 1 failed',
    ],
  ];
  // The last test counts those of a run as well.
  const IN_SHORT = ['fails if the test process exits early', 'fails if a test is exclusive (it.only)'];
  const tried = byLength({ short: runs.filter(([title]) => IN_SHORT.includes(title)), full: runs });
  for (const [title, project, status, last] of tried) {
    it(title, () => expect(ciRun(project)).to.deep.equal([status, last]));
  }

  it('says the CPU seconds of the tests and of each file, and fails if they exceed the budget', () => {
    // The script counts whole seconds of user and system apart, so of two seconds it counts at least one.
    const busy = `it('c', () => {
      const used = ({ user, system } = process.cpuUsage()) => user + system;
      const from = used();
      while (used() - from < 2e6);
    }).timeout(0);`;
    const { status, lines } = outputOf({ tests: busy, parallel: passing, budget: '0' });
    expect([status, lines.at(-1)]).to.deep.equal([1, '5 passed, 1 failed']);
    const said = lines.slice(lines.findIndex((line) => line.startsWith('== CPU')) + 1);
    const [slowest, fast, all, verdict] = said;
    expect(slowest).to.match(/^[1-9]\.\d\d \S+\/test\/a\.test\.cjs$/);
    expect(fast).to.match(/^\d\.\d\d \S+\/test\/b\.test\.cjs$/);
    expect(all).to.match(/^\d+ of 0$/);
    expect(Number(all?.split(' ')[0])).to.be.greaterThan(0);
    expect(verdict).to.equal('The tests exceed their budget.');
  });
});
