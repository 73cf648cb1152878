/** Turns measurements into the text of the report: a table, and the goals. */

export interface Measurement {
  /** The name of the workload. */
  readonly workload: string;
  readonly round: number;
  /** Requests a second. */
  readonly rate: number;
  /** CPU time of the server for one request, in milliseconds. `undefined` if it cannot be read. */
  readonly cpu: number | undefined;
  /** CPU time of the database server for one request, in milliseconds. `undefined` for SQLite, which has no server. */
  readonly databaseCpu: number | undefined;
  /** Milliseconds in ascending order. */
  readonly latencies: Float64Array;
}

export interface Summary {
  readonly workload: string;
  /** Requests a second: the median of the rounds, then the slowest and the fastest round. */
  readonly rate: number;
  readonly slowest: number;
  readonly fastest: number;
  /** The median over the rounds of this rate, divided by the reference's rate in the same round. */
  readonly ratio: number;
  /** Milliseconds for one request: the median of the rounds. */
  readonly cpu: number | undefined;
  readonly databaseCpu: number | undefined;
  /** Milliseconds, over the requests of all rounds. */
  readonly p50: number;
  readonly p99: number;
}

/** Summarises each workload, in the order of their first measurement. */
export function summarise(measurements: readonly Measurement[], reference: string): readonly Summary[] {
  const names = [...new Set(measurements.map(({ workload }) => workload))];
  const references = new Map(
    measurements.filter(({ workload }) => workload === reference).map(({ round, rate }) => [round, rate]),
  );
  return names.map((workload) => {
    const own = measurements.filter((measurement) => measurement.workload === workload);
    const rates = own.map(({ rate }) => rate);
    const latencies = Float64Array.from(own.flatMap((measurement) => [...measurement.latencies])).sort();
    return {
      workload,
      rate: median(rates),
      slowest: Math.min(...rates),
      fastest: Math.max(...rates),
      ratio: median(own.map(({ round, rate }) => rate / (references.get(round) ?? Number.NaN))),
      cpu: medianOrNone(own.map(({ cpu }) => cpu)),
      databaseCpu: medianOrNone(own.map(({ databaseCpu }) => databaseCpu)),
      p50: percentile(latencies, 0.5),
      p99: percentile(latencies, 0.99),
    };
  });
}

function medianOrNone(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : median(known);
}

/** A Markdown table with aligned columns, readable on a terminal and in a document. */
export function table(summaries: readonly Summary[]): string {
  const header = ['what', 'a second', 'slowest to fastest', 'of the peer', 'CPU each', 'database', 'p50', 'p99'];
  const rows = summaries.map(({ workload, rate, slowest, fastest, ratio, cpu, databaseCpu, p50, p99 }) => [
    workload,
    whole(rate),
    `${whole(slowest)} to ${whole(fastest)}`,
    ratio.toFixed(2),
    cpu === undefined ? 'n/a' : `${cpu.toFixed(2)} ms`,
    databaseCpu === undefined ? '' : `${databaseCpu.toFixed(2)} ms`,
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

interface Goal {
  readonly workload: string;
  readonly of: 'rate' | 'cpu' | 'databaseCpu';
  /** The workload to compare with. The default is the peer. */
  readonly than?: string;
  readonly atLeast?: number;
  readonly atMost?: number;
}

const GOALS: readonly Goal[] = [
  { workload: 'exchange, SQLite', of: 'rate', atLeast: 1.15 },
  { workload: 'exchange, SQLite', of: 'cpu', atMost: 0.95 },
  { workload: 'exchange, Postgres', of: 'rate', atLeast: 0.9 },
  { workload: 'exchange, Postgres', of: 'databaseCpu', atMost: 0.35 },
  { workload: 'refresh, SQLite', of: 'rate', atLeast: 1.4 },
  { workload: 'refresh, Postgres', of: 'rate', atLeast: 1 },
  { workload: 'introspection, SQLite', of: 'rate', than: 'exchange, SQLite', atLeast: 3.5 },
  { workload: 'introspection, Postgres', of: 'rate', than: 'exchange, Postgres', atLeast: 2 },
];

const WHAT = { rate: 'rate', cpu: 'CPU', databaseCpu: "database's CPU" } as const;

/** One line for each goal whose workloads were measured. */
export function judge(summaries: readonly Summary[], peer: string): readonly string[] {
  const named = (name: string) => summaries.find(({ workload }) => workload === name);
  return GOALS.flatMap(({ workload, of, than = peer, atLeast, atMost }) => {
    const [own, other] = [named(workload), named(than)];
    const measured = own?.[of];
    const reference = of === 'rate' ? other?.rate : other?.cpu;
    if (own === undefined || measured === undefined || reference === undefined) return [];
    // Compares with the peer round by round, as the table does.
    const ratio = of === 'rate' && than === peer ? own.ratio : measured / reference;
    const isReached = atLeast === undefined ? ratio <= (atMost ?? 0) : ratio >= atLeast;
    const bound = atLeast === undefined ? `at most ${atMost}` : `at least ${atLeast}`;
    const whose = than === peer ? `the peer's ${of === 'rate' ? 'rate' : 'CPU'}` : `the rate of ${than}`;
    return `${workload}, ${WHAT[of]} ${bound} of ${whose}: ${ratio.toFixed(2)}, ${isReached ? 'reached' : 'NOT reached'}`;
  });
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
