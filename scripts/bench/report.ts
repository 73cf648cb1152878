/** What the measurements come to: a table, the goals, and where it was measured, as text for terminal and document. */

import type { Measurement } from './rounds.ts';
import { median, percentile } from './statistics.ts';

export interface Summary {
  readonly contender: string;
  /** Requests a second: the median of the rounds, the slowest and the fastest. */
  readonly rate: number;
  readonly slowest: number;
  readonly fastest: number;
  /** The median over the rounds of this contender's rate divided by the reference's in the same round. */
  readonly ratio: number;
  /** Milliseconds, the median of the rounds. */
  readonly cpu: number | undefined;
  /** Milliseconds, over all rounds. */
  readonly p50: number;
  readonly p99: number;
}

/** In the order in which the contenders first appear. */
export function summarise(measurements: readonly Measurement[], reference: string): readonly Summary[] {
  const names = [...new Set(measurements.map(({ contender }) => contender))];
  const references = new Map(
    measurements.filter(({ contender }) => contender === reference).map(({ round, rate }) => [round, rate]),
  );
  return names.map((contender) => {
    const own = measurements.filter((measurement) => measurement.contender === contender);
    const rates = own.map(({ rate }) => rate);
    const cpus = own.flatMap(({ cpu }) => (cpu === undefined ? [] : [cpu]));
    const latencies = Float64Array.from(own.flatMap((measurement) => [...measurement.latencies])).sort();
    return {
      contender,
      rate: median(rates),
      slowest: Math.min(...rates),
      fastest: Math.max(...rates),
      ratio: median(own.map(({ round, rate }) => rate / (references.get(round) ?? Number.NaN))),
      cpu: cpus.length === 0 ? undefined : median(cpus),
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
    };
  });
}

/** A Markdown table that is aligned, so that it reads as well on a terminal. */
export function table(summaries: readonly Summary[]): string {
  const header = ['what', 'a second', 'slowest to fastest', 'of the peer', 'CPU each', 'p50', 'p99'];
  const rows = summaries.map(({ contender, rate, slowest, fastest, ratio, cpu, p50, p99 }) => [
    contender,
    whole(rate),
    `${whole(slowest)} to ${whole(fastest)}`,
    ratio.toFixed(2),
    cpu === undefined ? 'n/a' : `${cpu.toFixed(2)} ms`,
    `${p50.toFixed(1)} ms`,
    `${p99.toFixed(1)} ms`,
  ]);
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`;
  return [line(header), rule, ...rows.map(line)].join('\n');
}

/** Names to the left, figures to the right. */
function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function whole(rate: number): string {
  return Math.round(rate).toLocaleString('en-GB');
}
