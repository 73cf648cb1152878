/** Turns measurements into the text of the report: a table, and the goals. */

export interface Measurement {
  /** The name of the workload. */
  readonly workload: string;
  readonly round: number;
  /** Requests a second. */
  readonly rate: number;
  /** CPU of the server for one request, in milliseconds; `undefined` if unavailable. */
  readonly cpu: number | undefined;
  /** Milliseconds, in ascending order. */
  readonly latencies: Float64Array;
}

export interface Summary {
  readonly workload: string;
  /** Requests a second: the median of the rounds, the slowest and the fastest round. */
  readonly rate: number;
  readonly slowest: number;
  readonly fastest: number;
  /** The median of each round's rate divided by the reference's rate in the same round. */
  readonly ratio: number;
  /** Milliseconds, the median of the rounds. */
  readonly cpu: number | undefined;
  /** Milliseconds, over all rounds. */
  readonly p50: number;
  readonly p99: number;
}

/** Keeps the order in which the workloads first occur. */
export function summarise(measurements: readonly Measurement[], reference: string): readonly Summary[] {
  const names = [...new Set(measurements.map(({ workload }) => workload))];
  const references = new Map(
    measurements.filter(({ workload }) => workload === reference).map(({ round, rate }) => [round, rate]),
  );
  return names.map((workload) => {
    const own = measurements.filter((measurement) => measurement.workload === workload);
    const rates = own.map(({ rate }) => rate);
    const cpus = own.flatMap(({ cpu }) => cpu ?? []);
    const latencies = Float64Array.from(own.flatMap((measurement) => [...measurement.latencies])).sort();
    return {
      workload,
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

/** A Markdown table with aligned columns, for terminal and document. */
export function table(summaries: readonly Summary[]): string {
  const header = ['what', 'a second', 'slowest to fastest', 'of the peer', 'CPU each', 'p50', 'p99'];
  const rows = summaries.map(({ workload, rate, slowest, fastest, ratio, cpu, p50, p99 }) => [
    workload,
    whole(rate),
    `${whole(slowest)} to ${whole(fastest)}`,
    ratio.toFixed(2),
    cpu === undefined ? 'n/a' : `${cpu.toFixed(2)} ms`,
    `${p50.toFixed(1)} ms`,
    `${p99.toFixed(1)} ms`,
  ]);
  const widths = header.map((title, column) =>
    Math.max(...[[title], ...rows.map((row) => [row[column]])].flat().map((cell) => cell?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join(' | ')} |`;
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`));
  return [line(header), `|${rule.join('|')}|`, ...rows.map(line)].join('\n');
}

/** Names are left-aligned, figures right-aligned. */
function pad(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function whole(rate: number): string {
  return Math.round(rate).toLocaleString('en-GB');
}

/** The least rate of exchanges, as a share of the peer's. */
const LEAST_RATIO = { SQLite: 0.9, Postgres: 0.5 } as const;
/** The maximum CPU of an exchange, in milliseconds. */
const MOST_CPU = 0.5;
/** An introspection signs and writes nothing. */
const INTROSPECTION_FACTOR = 2;

/** One line for each goal whose workloads were measured. */
export function judge(summaries: readonly Summary[]): readonly string[] {
  const databases = ['SQLite', 'Postgres'] as const;
  const of = (kind: string, database: string) => summaries.find(({ workload }) => workload === `${kind}, ${database}`);
  const line = (goal: string, isReached: boolean | undefined) =>
    isReached === undefined ? [] : [`${goal}: ${isReached ? 'reached' : 'NOT reached'}`];
  return [
    ...databases.flatMap((database) => {
      const [least, exchange] = [LEAST_RATIO[database], of('exchange', database)];
      return line(`exchange, ${database}, at least ${least} of the peer's rate`, exchange && exchange.ratio >= least);
    }),
    ...databases.flatMap((database) => {
      const cpu = of('exchange', database)?.cpu;
      const goal = `exchange, ${database}, at most ${MOST_CPU} ms of the service's CPU`;
      return line(goal, cpu === undefined ? undefined : cpu <= MOST_CPU);
    }),
    ...databases.flatMap((database) => {
      const [exchange, introspection] = [of('exchange', database), of('introspection', database)];
      const isReached = exchange && introspection && introspection.rate >= exchange.rate * INTROSPECTION_FACTOR;
      return line(`introspection, ${database}, at least twice the exchange rate`, isReached);
    }),
  ];
}

export const START_MARK = '<!-- figures: start (npm run bench -- --write) -->';
export const END_MARK = '<!-- figures: end -->';

/** Replaces the figures between the two marks of docs/performance.md. */
export function replaceFigures(document: string, figures: string): string {
  const start = document.indexOf(START_MARK);
  const end = document.indexOf(END_MARK, start);
  if (start === -1 || end === -1) throw new Error('docs/performance.md has no marks for the figures');
  return `${document.slice(0, start + START_MARK.length)}\n\n${figures}\n\n${document.slice(end)}`;
}

/** The middle value; the mean of the two middle values of an even number. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

/** The smallest of the ascending values that is at least as large as this share of them. NaN of none. */
export function percentile(ascending: Float64Array, share: number): number {
  return ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)] ?? Number.NaN;
}
