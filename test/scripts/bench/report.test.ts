import { expect } from 'chai';
import { END_MARK, replaceFigures, START_MARK } from '../../../scripts/bench/document.ts';
import { judge } from '../../../scripts/bench/goals.ts';
import { readOptions } from '../../../scripts/bench/options.ts';
import { processCpuSeconds } from '../../../scripts/bench/process-cpu.ts';
import { type Summary, summarise, table } from '../../../scripts/bench/report.ts';
import { median, percentile } from '../../../scripts/bench/statistics.ts';

function measurement(contender: string, round: number, rate: number) {
  return { contender, round, rate, cpu: 1000 / rate, latencies: Float64Array.from([1, 2, 30]) };
}

function summary(contender: string, figures: Partial<Summary>): Summary {
  return { contender, rate: 1000, slowest: 900, fastest: 1100, ratio: 1, cpu: 0.4, p50: 3, p99: 9, ...figures };
}

describe('the report of the benchmark', () => {
  it('compares each round with the reference of the same round, and takes the median', () => {
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
    expect(own).to.include({ contender: 'exchange', rate: 1500, slowest: 400, fastest: 2400, ratio: 1.2 });
    expect(own).to.include({ p50: 2, p99: 30 });
  });

  it('is a table whose columns are aligned', () => {
    const lines = table([summary('a', { rate: 12345 }), summary('a longer name', { cpu: undefined })]).split('\n');
    expect(new Set(lines.map((line) => line.length)).size).to.equal(1);
    expect(lines[2]).to.contain('12,345');
    expect(lines[3]).to.contain('n/a');
  });

  it('says of each goal that was measured whether it is reached', () => {
    const lines = judge([
      summary('exchange, SQLite', { ratio: 0.91, cpu: 0.51, rate: 1000 }),
      summary('introspection, SQLite', { rate: 2000 }),
    ]);
    expect(lines).to.deep.equal([
      "exchange, SQLite, at least 0.9 of the peer's rate: reached",
      "exchange, SQLite, at most 0.5 ms of the service's CPU: NOT reached",
      'introspection, SQLite, at least twice the exchange rate: reached',
    ]);
  });

  it('takes the place of the former figures in the document, and of nothing else', () => {
    const before = `# Title\n\n${START_MARK}\n\nold\n\n${END_MARK}\n\nlast line\n`;
    const after = replaceFigures(before, 'new');
    expect(after).to.equal(`# Title\n\n${START_MARK}\n\nnew\n\n${END_MARK}\n\nlast line\n`);
    expect(() => replaceFigures('# Title', 'new')).to.throw('marks');
  });
});

describe('the figures of the benchmark', () => {
  it('take the middle value, or the mean of the two in the middle', () => {
    expect(median([5, 1, 3])).to.equal(3);
    expect(median([4, 1, 3, 2])).to.equal(2.5);
    expect(median([])).to.be.NaN;
  });

  it('take the percentile that so large a share does not exceed', () => {
    const hundred = Float64Array.from({ length: 100 }, (_, index) => index + 1);
    expect(percentile(hundred, 0.5)).to.equal(50);
    expect(percentile(hundred, 0.99)).to.equal(99);
    expect(percentile(new Float64Array(), 0.5)).to.be.NaN;
  });

  it('count the CPU time of a process as the process itself does', function () {
    const before = processCpuSeconds(process.pid);
    if (before === undefined) {
      expect(process.platform).to.not.equal('linux');
      this.skip();
    }
    const { user, system } = process.cpuUsage();
    expect(before).to.be.closeTo((user + system) / 1e6, 0.1);
  });
});

describe('the options of the benchmark', () => {
  it('have defaults', () => {
    expect(readOptions([])).to.deep.equal({ seconds: 3, rounds: 5, databases: ['sqlite', 'postgres'], write: false });
  });

  it('are read', () => {
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
    it(`are refused with a sentence: ${args.join(' ')}`, () => {
      expect(readOptions(args)).to.be.a('string');
    });
  }
});
