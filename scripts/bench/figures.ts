/** The figures of docs/performance.md: a table for operators, the goals for developers, and a table without pins. */

import { type Studies, tableOfGoals } from './goals.ts';
import { PEER_IN_MEMORY } from './peer.ts';
import { median, pairedRatio, type Summary, table } from './report.ts';
import type { Run } from './run.ts';

/** All that was measured, as it is kept in a file. */
export interface Figures {
  readonly runs: readonly Run[];
  readonly studies: Studies;
}

export function describeFigures({ runs, studies }: Figures): string {
  return [
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
      ofCpu(summaries.flatMap(({ cpu }) => cpu)),
      databaseCpu.length === 0 ? '' : ofCpu(databaseCpu),
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
      ofCpu(summaries.flatMap(({ cpu }) => cpu)),
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

/** The median of CPU times. They are not known on every platform. */
function ofCpu(milliseconds: readonly number[]): string {
  const middle = median(milliseconds);
  return Number.isNaN(middle) ? 'n/a' : `${middle.toFixed(2)} ms`;
}

function percent(share: number): string {
  return Number.isNaN(share) ? 'n/a' : `${Math.round(share * 100)}%`;
}
