/** What the figures have to reach, and whether they do. */

import type { Summary } from './report.ts';

interface Goal {
  readonly says: string;
  /** `undefined` when what it is about was not measured. */
  reached(summaries: ReadonlyMap<string, Summary>): boolean | undefined;
}

const EXCHANGE_SQLITE = 'exchange, SQLite';
const EXCHANGE_POSTGRES = 'exchange, Postgres';

/** Times the exchange rate that introspection, which signs and writes nothing, has to reach. */
const INTROSPECTION_FACTOR = 2;

const goals: readonly Goal[] = [
  ratioGoal(EXCHANGE_SQLITE, 0.9),
  ratioGoal(EXCHANGE_POSTGRES, 0.5),
  cpuGoal(EXCHANGE_SQLITE, 0.5),
  cpuGoal(EXCHANGE_POSTGRES, 0.5),
  introspectionGoal('SQLite'),
  introspectionGoal('Postgres'),
];

/** One line for each goal whose subject was measured. */
export function judge(summaries: readonly Summary[]): readonly string[] {
  const byName = new Map(summaries.map((summary) => [summary.contender, summary]));
  return goals.flatMap((goal) => {
    const reached = goal.reached(byName);
    return reached === undefined ? [] : [`${goal.says}: ${reached ? 'reached' : 'NOT reached'}`];
  });
}

function ratioGoal(contender: string, least: number): Goal {
  return {
    says: `${contender}, at least ${least} of the peer's rate`,
    reached: (summaries) => atLeast(summaries.get(contender)?.ratio, least),
  };
}

/** @param most milliseconds of the service's CPU */
function cpuGoal(contender: string, most: number): Goal {
  return {
    says: `${contender}, at most ${most} ms of the service's CPU`,
    reached: (summaries) => {
      const cpu = summaries.get(contender)?.cpu;
      return cpu === undefined ? undefined : cpu <= most;
    },
  };
}

function introspectionGoal(database: string): Goal {
  return {
    says: `introspection, ${database}, at least twice the exchange rate`,
    reached: (summaries) => {
      const exchange = summaries.get(`exchange, ${database}`)?.rate;
      const least = exchange === undefined ? Number.NaN : exchange * INTROSPECTION_FACTOR;
      return atLeast(summaries.get(`introspection, ${database}`)?.rate, least);
    },
  };
}

function atLeast(value: number | undefined, least: number): boolean | undefined {
  return value === undefined || Number.isNaN(least) ? undefined : value >= least;
}
