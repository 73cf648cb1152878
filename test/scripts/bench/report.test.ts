import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { expect } from 'chai';
import { describeFigures } from '../../../scripts/bench/figures.ts';
import { tableOfGoals } from '../../../scripts/bench/goals.ts';
import { readOptions } from '../../../scripts/bench/options.ts';
import {
  END_MARK,
  type Measurement,
  median,
  pairedRatio,
  percentile,
  replaceFigures,
  START_MARK,
  type Summary,
  summarise,
  table,
} from '../../../scripts/bench/report.ts';
import type { Run } from '../../../scripts/bench/run.ts';
import { childrenOf, cpuSeconds, pinToSeparateCores, residentMegabytes, unpin } from '../../../scripts/machine.ts';
import { eventually } from '../../support/eventually.ts';

function measurement(workload: string, round: number, rate: number): Measurement {
  return {
    workload,
    round,
    rate,
    cpu: 1000 / rate,
    databaseCpu: undefined,
    busy: 0.9,
    othersBusy: 0.1,
    latencies: Float64Array.from([1, 2, 30]),
  };
}

function summary(workload: string, figures: Partial<Summary>): Summary {
  return {
    workload,
    rate: [1000],
    cpu: [1],
    databaseCpu: [],
    busy: [0.9],
    othersBusy: [0.1],
    p50: 3,
    p99: 9,
    ...figures,
  };
}

function run(summaries: readonly Summary[], readyAfter: Run['readyAfter'] = {}): Run {
  return { pinned: summaries, unpinned: [], readyAfter };
}

/** The cells of a row of a table. */
function cells(text: string, name: string): readonly string[] {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`| ${name} `)) ?? '';
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The cores on which a process may run, as the kernel says. */
function allowedCores(pid: number): string | undefined {
  return /^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
}

describe('the report of the benchmark', () => {
  it('has the figures of a workload in the order of the rounds, whatever order they were measured in', () => {
    const [peer, own] = summarise([
      measurement('peer', 1, 1000),
      measurement('exchange', 1, 1500),
      measurement('exchange', 2, 2400),
      measurement('peer', 2, 2000),
      measurement('peer', 4, 500),
      measurement('exchange', 4, 400),
      measurement('exchange', 3, 400),
      measurement('peer', 3, 800),
    ]);
    expect(own).to.deep.include({
      workload: 'exchange',
      rate: [1500, 2400, 400, 400],
      databaseCpu: [],
      p50: 2,
      p99: 30,
    });
    expect(peer?.rate).to.deep.equal([1000, 2000, 800, 500]);
  });

  it('compares two workloads round by round', () => {
    expect(pairedRatio([1500, 2400, 400], [1000, 2000, 500])).to.equal(1.2);
    expect(pairedRatio([1500], [1000, 2000])).to.equal(undefined);
    expect(pairedRatio([], [])).to.equal(undefined);
    expect(pairedRatio([1500], undefined)).to.equal(undefined);
  });

  it('is a table with aligned columns', () => {
    const lines = table(
      ['what', 'a second'],
      [
        ['a', '12,345'],
        ['a longer name', '1'],
      ],
    ).split('\n');
    expect(lines).to.deep.equal([
      '| what          | a second |',
      '|---------------|---------:|',
      '| a             |   12,345 |',
      '| a longer name |        1 |',
    ]);
  });

  it('says for each goal the median of the runs, their range, and whether the median reaches the goal', () => {
    const exchange = 'exchange, SQLite';
    const runs = [1200, 1000, 1160].map((rate, nth) =>
      run([summary('peer in memory', {}), summary(exchange, { rate: [rate], cpu: [0.74 + nth / 100] })], {
        sqlite: [900, 710, 720],
      }),
    );
    const text = tableOfGoals(runs, { 'two replicas': [1.9, 1.7, 1.6] });
    const rate = 'rate of exchange, SQLite; of that of peer in memory';
    expect(cells(text, rate)).to.deep.equal([rate, 'at least 1.15', '1.30', '1.16', '1.00 to 1.20', '17%', 'yes']);
    const cpu = 'CPU of exchange, SQLite; of that of peer in memory';
    expect(cells(text, cpu).slice(3)).to.deep.equal(['0.75', '0.74 to 0.76', '3%', 'aim']);
    const ready = 'ready after start, SQLite';
    expect(cells(text, ready).slice(3)).to.deep.equal(['0.72 s', '0.72 s to 0.72 s', '0%', 'NO']);
    const replicas = 'exchanges of two replicas on two cores, of one';
    expect(cells(text, replicas).slice(1)).to.deep.equal(['at least 1.80', '', '1.70', '1.60 to 1.90', '18%', 'NO']);
    expect(cells(text, 'CPU of Postgres for an end')[3]).to.equal('not measured');
  });

  it('says what one core serves, and what the service serves without pins, as medians of the runs', () => {
    const runs = [1200, 1000, 1160].map((rate): Run => {
      const exchange = { rate: [rate, rate + 100, rate], databaseCpu: [0.3, 0.2, 0.25] };
      return {
        pinned: [summary('peer in memory', {}), summary('exchange, Postgres', exchange)],
        unpinned: [summary('peer in memory', { rate: [2000] }), summary('exchange, Postgres', { rate: [rate] })],
        readyAfter: {},
      };
    });
    const [pinned = '', rest = ''] = describeFigures({ runs, studies: {} }).split('### The goals');
    const figures = ['1,160', '1,000 to 1,200', '3.0 ms', '9.0 ms', '1.00 ms', '0.25 ms', '90%', '10%'];
    expect(cells(pinned, 'exchange, Postgres').slice(1)).to.deep.equal(figures);
    expect(cells(rest, 'exchange, Postgres').slice(1)).to.deep.equal(['1,160', '0.58', '0.50 to 0.60', '1.00 ms']);
  });

  it('replaces only the figures between the marks of the document', () => {
    const before = `# Title\n\n${START_MARK}\n\nold\n\n${END_MARK}\n\nlast line\n`;
    const after = replaceFigures(before, 'new');
    expect(after).to.equal(`# Title\n\n${START_MARK}\n\nnew\n\n${END_MARK}\n\nlast line\n`);
    expect(() => replaceFigures('# Title', 'new')).to.throw('marks');
  });
});

describe('the figures of the benchmark', () => {
  it('have a median: the middle value, or the mean of the two middle values', () => {
    expect(median([5, 1, 3])).to.equal(3);
    expect(median([4, 1, 3, 2])).to.equal(2.5);
    expect(median([])).to.be.NaN;
  });

  it('have percentiles: a value that is at least as large as this share of the values', () => {
    const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1);
    expect(percentile(hundred, 0.5)).to.equal(50);
    expect(percentile(hundred, 0.99)).to.equal(99);
    expect(percentile(new Float64Array(), 0.5)).to.be.NaN;
  });

  it('have the CPU time and the memory of a process, as the process itself reports them', function () {
    const [cpu, megabytes] = [cpuSeconds(process.pid), residentMegabytes(process.pid, 'VmRSS')];
    if (cpu === undefined || megabytes === undefined) {
      expect(process.platform).to.not.equal('linux');
      this.skip();
    }
    const { user, system } = process.cpuUsage();
    expect(cpu).to.be.closeTo((user + system) / 1e6, 0.1);
    expect(megabytes).to.be.closeTo(process.memoryUsage.rss() / 1024 ** 2, 10);
    // The kernel may update these counts a little later (proc(5)).
    expect(residentMegabytes(process.pid, 'VmHWM')).to.be.at.least(megabytes - 1);
  });
});

describe('the pins of the benchmark', () => {
  it('hold a service with its child processes on the first core, and the others, which started it, on the other cores', async function () {
    const [service, other] = ['sleep 30 & wait', 'exec sleep 30'].map((script) => spawn('sh', ['-c', script]));
    try {
      const pids = [service?.pid ?? 0, other?.pid ?? 0] as const;
      await eventually(() => childrenOf(pids[0]).length === 1);
      const processes = [...pids, ...childrenOf(pids[0])];
      const pinned = { services: [pids[0]], others: [process.pid, pids[1]] };
      const last = availableParallelism() - 1;
      if (!pinToSeparateCores(pinned)) {
        expect(process.platform === 'linux' && last > 0).to.equal(false);
        this.skip();
      }
      const rest = last === 1 ? '1' : `1-${last}`;
      const allowed = [process.pid, ...processes].map(allowedCores);
      unpin(pinned);
      expect(allowed).to.deep.equal([rest, '0', rest, '0']);
      expect(processes.map(allowedCores)).to.deep.equal([`0-${last}`, `0-${last}`, `0-${last}`]);
    } finally {
      for (const pid of childrenOf(service?.pid ?? 0)) process.kill(pid);
      service?.kill();
      other?.kill();
    }
  });
});

describe('the options of the benchmark', () => {
  const databases = ['sqlite', 'postgres'];

  it('have defaults', () => {
    const defaults = { runs: 1, rounds: 3, seconds: 1, databases, studies: false, file: undefined, write: false };
    expect(readOptions([])).to.deep.equal(defaults);
  });

  it('have the given values', () => {
    const numbers = ['--runs', '0', '--rounds', '2', '--seconds', '10'];
    const args = [...numbers, '--only', 'postgres', '--studies', '--file', 'runs.json', '--write'];
    expect(readOptions(args)).to.deep.equal({
      runs: 0,
      rounds: 2,
      seconds: 10,
      databases: ['postgres'],
      studies: true,
      file: 'runs.json',
      write: true,
    });
  });

  for (const args of [
    ['--runs', '21'],
    ['--seconds', '0'],
    ['--seconds', '61'],
    ['--rounds', '1.5'],
    ['--only', 'mysql'],
    ['--fast'],
    ['x'],
  ]) {
    it(`are rejected with a sentence: ${args.join(' ')}`, () => {
      expect(readOptions(args)).to.be.a('string');
    });
  }
});
