/** The goals of the benchmark: each has a figure of every run, or of every measurement of a study. */

import { PEER_IN_MEMORY, peerThatStores } from './peer.ts';
import { median, pairedRatio, type Summary, table } from './report.ts';
import type { Run } from './run.ts';

/** Figures that are not part of a run, a value for each measurement. */
export type Studies = Readonly<Partial<Record<Study, readonly number[]>>>;
type Study =
  | 'many rows, SQLite'
  | 'many rows, Postgres'
  | 'seconds of a million records'
  | 'megabytes of a million records'
  | 'two replicas';

interface Goal {
  readonly name: string;
  readonly unit: 'ratio' | 'ms' | 's' | 'MB';
  readonly better: 'more' | 'less';
  readonly must: number;
  readonly aim?: number;
  values(runs: readonly Run[], studies: Studies): readonly number[];
}

type Bounds = Pick<Goal, 'better' | 'must' | 'aim'>;

const [SQLITE, POSTGRES] = ['SQLite', 'Postgres'];

const GOALS: readonly Goal[] = [
  ratio('rate', `exchange, ${SQLITE}`, PEER_IN_MEMORY, atLeast(1.15, 1.3)),
  ratio('rate', `exchange, ${POSTGRES}`, PEER_IN_MEMORY, atLeast(0.95, 1.15)),
  ratio('cpu', `exchange, ${SQLITE}`, PEER_IN_MEMORY, atMost(0.9, 0.75)),
  ratio('cpu', `exchange, ${POSTGRES}`, PEER_IN_MEMORY, atMost(0.85, 0.7)),
  ratio('rate', `exchange, ${SQLITE}`, peerThatStores(SQLITE), atLeast(2, 3)),
  ratio('rate', `exchange, ${POSTGRES}`, peerThatStores(POSTGRES), atLeast(2, 3)),
  ratio('rate', `refresh, ${SQLITE}`, PEER_IN_MEMORY, atLeast(1.4, 1.7)),
  ratio('rate', `refresh, ${POSTGRES}`, PEER_IN_MEMORY, atLeast(1.4, 1.7)),
  ratio('rate', `introspection, ${SQLITE}`, PEER_IN_MEMORY, atLeast(5, 8)),
  ratio('rate', `introspection, ${POSTGRES}`, PEER_IN_MEMORY, atLeast(5, 8)),
  {
    name: `CPU of Postgres for an exchange, of the CPU of the ${PEER_IN_MEMORY}`,
    unit: 'ratio',
    ...atMost(0.3, 0.2),
    values: ofRuns((of) => pairedRatio(of(`exchange, ${POSTGRES}`)?.databaseCpu, of(PEER_IN_MEMORY)?.cpu)),
  },
  milliseconds('cpu', `CPU of the service for an end, ${SQLITE}`, `end, ${SQLITE}`, atMost(0.9, 0.6)),
  milliseconds('cpu', `CPU of the service for an end, ${POSTGRES}`, `end, ${POSTGRES}`, atMost(0.9, 0.6)),
  milliseconds('databaseCpu', 'CPU of Postgres for an end', `end, ${POSTGRES}`, atMost(0.5, 0.3)),
  ratio('cpu', `second exchange, ${SQLITE}`, `exchange, ${SQLITE}`, atMost(0.9, 0.8)),
  ratio('cpu', `second exchange, ${POSTGRES}`, `exchange, ${POSTGRES}`, atMost(0.9, 0.8)),
  { name: `ready after start, ${SQLITE}`, unit: 's', ...atMost(0.7, 0.5), values: ready('sqlite') },
  { name: `ready after start, ${POSTGRES}`, unit: 's', ...atMost(0.7, 0.5), values: ready('postgres') },
  busy(`exchange, ${SQLITE}`, atLeast(0.95)),
  busy(`exchange, ${POSTGRES}`, atLeast(0.9)),
  study('many rows, SQLite', `CPU of an exchange beside 1,000,000 rows, of 10,000, ${SQLITE}`, 'ratio', atMost(1.1)),
  study(
    'many rows, Postgres',
    `CPU of an exchange beside 1,000,000 rows, of 10,000, ${POSTGRES}`,
    'ratio',
    atMost(1.1),
  ),
  study('seconds of a million records', 'a million records verified', 's', atMost(15, 10)),
  study('megabytes of a million records', 'memory of that', 'MB', atMost(200)),
  study('two replicas', 'exchanges of two replicas on two cores, of one', 'ratio', atLeast(1.8)),
];

function atLeast(must: number, aim?: number): Bounds {
  return aim === undefined ? { better: 'more', must } : { better: 'more', must, aim };
}

function atMost(must: number, aim?: number): Bounds {
  return { ...atLeast(must, aim), better: 'less' };
}

/** A figure of a workload, of that of another in the same round. */
function ratio(field: 'rate' | 'cpu', own: string, reference: string, bounds: Bounds): Goal {
  const name = `${field === 'rate' ? 'rate' : 'CPU'} of ${own}; of that of ${reference}`;
  return {
    name,
    unit: 'ratio',
    ...bounds,
    values: ofRuns((of) => pairedRatio(of(own)?.[field], of(reference)?.[field])),
  };
}

function milliseconds(field: 'cpu' | 'databaseCpu', name: string, workload: string, bounds: Bounds): Goal {
  return { name, unit: 'ms', ...bounds, values: ofRuns((of) => medianOrNone(of(workload)?.[field])) };
}

function busy(workload: string, bounds: Bounds): Goal {
  const name = `the service's core busy, ${workload}`;
  return { name, unit: 'ratio', ...bounds, values: ofRuns((of) => medianOrNone(of(workload)?.busy)) };
}

function study(key: Study, name: string, unit: Goal['unit'], bounds: Bounds): Goal {
  return { name, unit, ...bounds, values: (_, studies) => studies[key] ?? [] };
}

function ready(engine: string): Goal['values'] {
  return (runs) => runs.flatMap(({ readyAfter }) => medianOrNone(readyAfter[engine]) ?? []).map((ms) => ms / 1000);
}

/** A value of each run that has measured it. */
function ofRuns(value: (of: (workload: string) => Summary | undefined) => number | undefined): Goal['values'] {
  return (runs) =>
    runs.flatMap(({ pinned }) => value((name) => pinned.find(({ workload }) => workload === name)) ?? []);
}

function medianOrNone(values: readonly number[] | undefined): number | undefined {
  return values === undefined || values.length === 0 ? undefined : median(values);
}

/** A row for each goal: the median of its values, their range, and whether the median reaches the goal. */
export function tableOfGoals(runs: readonly Run[], studies: Studies): string {
  const rows = GOALS.map(({ name, unit, better, must, aim, values }) => {
    // CPU times are not known on every platform.
    const all = values(runs, studies).filter((value) => !Number.isNaN(value));
    const bound = `${better === 'more' ? 'at least' : 'at most'} ${figure(must, unit)}`;
    const goal = [name, bound, aim === undefined ? '' : figure(aim, unit)];
    if (all.length === 0) return [...goal, 'not measured', '', '', ''];
    const middle = median(all);
    const [lowest, highest] = [Math.min(...all), Math.max(...all)];
    const isReached = (limit: number) => (better === 'more' ? middle >= limit : middle <= limit);
    const verdict = aim !== undefined && isReached(aim) ? 'aim' : isReached(must) ? 'yes' : 'NO';
    const range = `${figure(lowest, unit)} to ${figure(highest, unit)}`;
    return [...goal, figure(middle, unit), range, `${Math.round(((highest - lowest) / middle) * 100)}%`, verdict];
  });
  return table(['what', 'goal', 'aim', 'median', 'lowest to highest', 'spread', 'reached'], rows);
}

function figure(value: number, unit: Goal['unit']): string {
  if (unit === 'MB') return `${Math.round(value)} MB`;
  return unit === 'ratio' ? value.toFixed(2) : `${value.toFixed(2)} ${unit}`;
}
