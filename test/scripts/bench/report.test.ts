import { expect } from 'chai';
import { readOptions } from '../../../scripts/bench/options.ts';
import {
  END_MARK,
  judge,
  type Measurement,
  median,
  percentile,
  replaceFigures,
  START_MARK,
  type Summary,
  summarise,
  table,
} from '../../../scripts/bench/report.ts';
import { cpuSeconds, residentMegabytes } from '../../../scripts/machine.ts';

function measurement(workload: string, round: number, rate: number): Measurement {
  return { workload, round, rate, cpu: 1000 / rate, databaseCpu: undefined, latencies: Float64Array.from([1, 2, 30]) };
}

function summary(workload: string, figures: Partial<Summary>): Summary {
  const database = { databaseCpu: undefined };
  return {
    workload,
    rate: 1000,
    slowest: 900,
    fastest: 1100,
    ratio: 1,
    cpu: 0.4,
    ...database,
    p50: 3,
    p99: 9,
    ...figures,
  };
}

describe('the report of the benchmark', () => {
  it('takes the median of the ratios to the reference, each in its own round', () => {
    const [, own] = summarise(
      [
        measurement('peer', 1, 1000),
        measurement('exchange', 1, 1500),
        measurement('peer', 2, 2000),
        measurement('exchange', 2, 2400),
        measurement('peer', 3, 500),
        measurement('exchange', 3, 400),
      ],
      'peer',
    );
    expect(own).to.include({ workload: 'exchange', rate: 1500, slowest: 400, fastest: 2400, ratio: 1.2 });
    expect(own).to.include({ p50: 2, p99: 30 });
  });

  it('is a table with aligned columns', () => {
    const lines = table([summary('a', { rate: 12345 }), summary('a longer name', { cpu: undefined })]).split('\n');
    expect(new Set(lines.map((line) => line.length)).size).to.equal(1);
    expect(lines[2]).to.contain('12,345');
    expect(lines[3]).to.contain('n/a');
  });

  it('says for each goal whether the measured value reaches it', () => {
    const lines = judge(
      [
        summary('peer', { cpu: 0.5 }),
        summary('exchange, SQLite', { ratio: 1.15, cpu: 0.48 }),
        summary('introspection, SQLite', { rate: 3500 }),
        summary('exchange, Postgres', { ratio: 0.89, databaseCpu: 0.2 }),
      ],
      'peer',
    );
    expect(lines).to.deep.equal([
      "exchange, SQLite, rate at least 1.15 of the peer's rate: 1.15, reached",
      "exchange, SQLite, CPU at most 0.95 of the peer's CPU: 0.96, NOT reached",
      "exchange, Postgres, rate at least 0.9 of the peer's rate: 0.89, NOT reached",
      "exchange, Postgres, database's CPU at most 0.35 of the peer's CPU: 0.40, NOT reached",
      'introspection, SQLite, rate at least 3.5 of the rate of exchange, SQLite: 3.50, reached',
    ]);
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

describe('the options of the benchmark', () => {
  it('have defaults', () => {
    expect(readOptions([])).to.deep.equal({ seconds: 3, rounds: 5, databases: ['sqlite', 'postgres'], write: false });
  });

  it('have the given values', () => {
    const args = ['--seconds', '10', '--rounds', '2', '--only', 'postgres', '--write'];
    expect(readOptions(args)).to.deep.equal({ seconds: 10, rounds: 2, databases: ['postgres'], write: true });
  });

  for (const args of [
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
