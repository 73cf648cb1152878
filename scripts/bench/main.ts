/**
 * `npm run bench`: measures the requests of Mandate on SQLite and on Postgres, beside two other servers (the peers) on the
 * same machine in the same run. docs/performance.md describes the method.
 *
 * run.ts is one run: testbed.ts starts an identity provider, Mandate (mandate.ts) and the peers (peer.ts); load.ts sends
 * each workload (workload.ts) at full speed. studies.ts measures more, once. goals.ts and report.ts print the tables. Each other
 * program of this folder measures one thing, and its comment has its command.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describeMachine } from '../machine.ts';
import { type Studies, tableOfGoals } from './goals.ts';
import { type BenchOptions, readOptions, usage } from './options.ts';
import { PEER_IN_MEMORY } from './peer.ts';
import { median, pairedRatio, replaceFigures, type Summary, table } from './report.ts';
import { measureRun, type Run } from './run.ts';
import { measureStudies } from './studies.ts';
import { CONCURRENCY } from './workload.ts';

const PAGE = new URL('../../docs/performance.md', import.meta.url);

/** All that was measured, as it is kept in a file. */
interface Figures {
  readonly runs: readonly Run[];
  readonly studies: Studies;
}

async function main(options: BenchOptions): Promise<void> {
  const { file, databases, write } = options;
  let figures: Figures =
    file !== undefined && existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { runs: [], studies: {} };
  const keep = (more: Figures) => {
    figures = more;
    if (file !== undefined) writeFileSync(file, JSON.stringify(figures));
  };
  for (let nth = 1; nth <= options.runs; nth += 1) {
    console.log(`\nrun ${nth} of ${options.runs}`);
    keep({ ...figures, runs: [...figures.runs, await measureRun(options)] });
  }
  if (options.studies) keep({ ...figures, studies: await measureStudies(databases) });
  const text = describe(options, figures);
  console.log(`\n${text}`);
  if (write) writeFileSync(PAGE, replaceFigures(readFileSync(PAGE, 'utf8'), text));
}

function describe({ rounds, seconds }: BenchOptions, { runs, studies }: Figures): string {
  return [
    ...describeMachine(new Date()).map((line) => `- ${line}`),
    `- Runs: ${runs.length}, each of ${rounds} rounds of ${seconds} s, ${CONCURRENCY} requests at once`,
    '',
    '### What one core serves',
    '',
    rates(runs),
    '',
    '### The goals',
    '',
    tableOfGoals(runs, studies),
    '',
    '### Without pins',
    '',
    ratesWithoutPins(runs),
  ].join('\n');
}

/** For operators: medians over the runs, of a service that has a core for itself. */
function rates(runs: readonly Run[]): string {
  const header = ['what', 'a second', 'lowest to highest', 'p50', 'p99', 'CPU', 'of Postgres', 'core busy', 'others'];
  const rows = byWorkload(runs.map(({ pinned }) => pinned)).map(([name, summaries]) => {
    const rate = summaries.map((one) => median(one.rate));
    const databaseCpu = summaries.flatMap((one) => one.databaseCpu);
    return [
      name,
      whole(median(rate)),
      `${whole(Math.min(...rate))} to ${whole(Math.max(...rate))}`,
      `${median(summaries.map(({ p50 }) => p50)).toFixed(1)} ms`,
      `${median(summaries.map(({ p99 }) => p99)).toFixed(1)} ms`,
      `${median(summaries.flatMap(({ cpu }) => cpu)).toFixed(2)} ms`,
      databaseCpu.length === 0 ? '' : `${median(databaseCpu).toFixed(2)} ms`,
      percent(median(summaries.flatMap(({ busy }) => busy))),
      percent(median(summaries.flatMap(({ othersBusy }) => othersBusy))),
    ];
  });
  return table(header, rows);
}

function ratesWithoutPins(runs: readonly Run[]): string {
  const all = byWorkload(runs.map(({ unpinned }) => unpinned));
  const peer = all.find(([name]) => name === PEER_IN_MEMORY)?.[1] ?? [];
  const rows = all.map(([name, summaries]) => {
    const rate = summaries.map((one) => median(one.rate));
    const ratios = summaries.map((one, run) => pairedRatio(one.rate, peer[run]?.rate) ?? Number.NaN);
    return [
      name,
      whole(median(rate)),
      median(ratios).toFixed(2),
      `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
      `${median(summaries.flatMap(({ cpu }) => cpu)).toFixed(2)} ms`,
    ];
  });
  return table(['what', 'a second', `of the ${PEER_IN_MEMORY}`, 'lowest to highest', 'CPU'], rows);
}

/** The summaries of each workload, one of each run. */
function byWorkload(runs: readonly (readonly Summary[])[]): readonly (readonly [string, readonly Summary[]])[] {
  const names = new Set(runs.flatMap((summaries) => summaries.map(({ workload }) => workload)));
  return [...names].map((name) => [name, runs.flatMap((run) => run.filter(({ workload }) => workload === name))]);
}

function whole(rate: number): string {
  return Math.round(rate).toLocaleString('en-GB');
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

const options = readOptions(process.argv.slice(2));
if (typeof options === 'string') {
  console.error(`${options}\n\n${usage}`);
  process.exitCode = 2;
} else {
  await main(options);
}
