/** Summarises the measurements of a run, and prints tables. */

export interface Measurement {
  /** The name of the workload. */
  readonly workload: string;
  readonly round: number;
  /** Requests a second. */
  readonly rate: number;
  /** CPU time of the server for one request, in milliseconds. */
  readonly cpu: number;
  /** CPU time of the database server for one request, in milliseconds. `undefined` for SQLite, which has no server. */
  readonly databaseCpu: number | undefined;
  /** CPU time of the server in a second of the measurement. */
  readonly busy: number;
  /** The same of the load generator and the database server together. */
  readonly othersBusy: number;
  /** Milliseconds in ascending order. */
  readonly latencies: Float64Array;
}

/** The measurements of a workload in one run: a value for each round, in the order of the rounds. */
export interface Summary {
  readonly workload: string;
  readonly rate: readonly number[];
  readonly cpu: readonly number[];
  /** Empty for SQLite. */
  readonly databaseCpu: readonly number[];
  readonly busy: readonly number[];
  readonly othersBusy: readonly number[];
  /** Milliseconds, over the requests of all rounds. */
  readonly p50: number;
  readonly p99: number;
}

/** Summarises each workload, in the order of their first measurement. */
export function summarise(measurements: readonly Measurement[]): readonly Summary[] {
  const names = [...new Set(measurements.map(({ workload }) => workload))];
  return names.map((workload) => {
    const own = measurements
      .filter((measurement) => measurement.workload === workload)
      .toSorted((a, b) => a.round - b.round);
    const latencies = Float64Array.from(own.flatMap((measurement) => [...measurement.latencies])).sort();
    return {
      workload,
      rate: own.map(({ rate }) => rate),
      cpu: own.map(({ cpu }) => cpu),
      databaseCpu: own.flatMap(({ databaseCpu }) => databaseCpu ?? []),
      busy: own.map(({ busy }) => busy),
      othersBusy: own.map(({ othersBusy }) => othersBusy),
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
    };
  });
}

/** The median of the ratios of two values, each in its round. `undefined` if a value is missing. */
export function pairedRatio(
  own: readonly number[] | undefined,
  reference: readonly number[] | undefined,
): number | undefined {
  if (own === undefined || reference === undefined || own.length === 0) return undefined;
  if (own.length !== reference.length) return undefined;
  return median(own.map((value, round) => value / (reference[round] ?? Number.NaN)));
}

/** A Markdown table with aligned columns, readable on a terminal and in a document. Names are left-aligned. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0);
  const line = (cells: readonly string[]) => `| ${cells.map(pad).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`));
  return [line(header), `|${rule.join('|')}|`, ...rows.map(line)].join('\n');
}

export const START_MARK = '<!-- figures: start (npm run bench -- --write) -->';
export const END_MARK = '<!-- figures: end -->';

/** Replaces the figures between the two marks in docs/performance.md. */
export function replaceFigures(document: string, figures: string): string {
  const start = document.indexOf(START_MARK);
  const end = document.indexOf(END_MARK, start);
  if (start === -1 || end === -1) throw new Error('docs/performance.md has no marks for the figures');
  return `${document.slice(0, start + START_MARK.length)}\n\n${figures}\n\n${document.slice(end)}`;
}

/** The middle value, or the mean of the two middle values. NaN if there are no values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** The smallest value that is at least as large as the given share of all values. NaN if there are no values. */
export function percentile(ascending: Float64Array, share: number): number {
  return ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)] ?? Number.NaN;
}
