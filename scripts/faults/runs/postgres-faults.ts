/** Fault runs with repeated faults of Postgres. The service keeps running. */

import { setTimeout as pause } from 'node:timers/promises';
import type { TemporaryPostgres } from '../../temporary-database.ts';
import { isIndeterminate, longestAnswer, type Operation, wallClock } from '../operations.ts';
import { type RunResult, type TestbedOptions, withTestbed } from '../testbed.ts';
import { unanswered } from './served.ts';

export interface PostgresFault {
  /** Causes the fault, and resolves once the fault is over. @param nth the number of earlier faults */
  readonly strike: (postgres: TemporaryPostgres, nth: number) => Promise<void>;
  readonly times: number;
  /** The pause before each fault and after the last, in milliseconds. */
  readonly pauseMs: number;
}

export function postgresFaults(
  options: Omit<TestbedOptions, 'engine'>,
  { strike, times, pauseMs }: PostgresFault,
): Promise<RunResult> {
  return withTestbed({ ...options, engine: 'postgres' }, async ({ start, finish, services, postgres }) => {
    if (postgres === undefined) throw new Error('there is no Postgres');
    await start();
    await pause(pauseMs);
    const periods: Period[] = [];
    for (let nth = 0; nth < times; nth++) {
      await strike(postgres, nth);
      const from = wallClock();
      await pause(pauseMs);
      periods.push({ from, until: nth === times - 1 ? Number.POSITIVE_INFINITY : wallClock() });
    }
    await Promise.all(services.map((service) => service.untilReady()));
    const result = await finish();
    const { figure, losses } = recovery(result.operations, periods);
    const all = [...result.losses, ...losses, ...unanswered(result.operations)];
    return { ...result, losses: all, figures: [figure] };
  });
}

/** Stops Postgres for a second: alternately as an operator does, and as a crash does. */
export async function restart(postgres: TemporaryPostgres, nth: number): Promise<void> {
  await postgres.halt(nth % 2 === 0 ? 'fast' : 'immediate');
  await pause(1_000);
  await postgres.start();
}

/** Suspends every process of Postgres (SIGSTOP), so that connections stay open but get no answer. */
export async function freeze(postgres: TemporaryPostgres, frozenMs: number): Promise<void> {
  postgres.freeze();
  await pause(frozenMs);
  postgres.thaw();
}

const TERMINATE = `select count(pg_terminate_backend(pid)) as ended from pg_stat_activity
  where application_name = 'mandate' and backend_type = 'client backend'`;

/** @returns the number of terminated sessions @throws if there were none */
export async function terminateSessions(postgres: TemporaryPostgres, everyMs: number, forMs: number): Promise<number> {
  let ended = 0;
  for (const until = wallClock() + forMs; wallClock() < until; await pause(everyMs)) {
    ended += Number((await postgres.query(TERMINATE))[0]?.ended);
  }
  if (ended === 0) throw new Error('the service had no sessions to terminate');
  return ended;
}

/** The time between two faults, by `wallClock`. A request that ends after `until` may meet the next fault. */
interface Period {
  readonly from: number;
  readonly until: number;
}

/** The time limits in docs/fault-runs.md, in milliseconds. */
const RECOVERED_WITHIN_MS = 5_000;
const ANSWERED_WITHIN_MS = 9_000;

/** Measures how soon after each fault all requests were served, and the longest time until a response. */
export function recovery(
  operations: readonly Operation[],
  periods: readonly Period[],
): { readonly figure: string; readonly losses: readonly string[] } {
  const unservedIn = ({ from, until }: Period) =>
    operations.filter((one) => isIndeterminate(one) && one.began >= from && one.ended < until);
  const delays = periods.flatMap((period) => unservedIn(period).map(({ began }) => began - period.from));
  const worst = Math.round(Math.max(0, ...delays));
  const late = periods.flatMap((period) =>
    unservedIn(period).filter(({ began }) => began > period.from + RECOVERED_WITHIN_MS),
  );
  const dead = periods.filter(
    ({ from, until }) => !operations.some((one) => !isIndeterminate(one) && one.began >= from && one.began < until),
  );
  const longest = Math.round(longestAnswer(operations));
  const slow = operations.filter(({ status, began, ended }) => status !== 0 && ended - began > ANSWERED_WITHIN_MS);
  return {
    figure: `the last request that was not served came at most ${worst} ms after the end of a fault`,
    losses: [
      ...(worst > RECOVERED_WITHIN_MS ? [`it took ${worst} ms until every request was served: ${names(late)}`] : []),
      ...(dead.length > 0 ? [`after ${dead.length} of the faults no request was served`] : []),
      ...(longest > ANSWERED_WITHIN_MS ? [`an answer took ${longest} ms: ${names(slow)}`] : []),
    ],
  };
}

function names(operations: readonly Operation[]): string {
  return [...new Set(operations.map(({ kind, status, error }) => `"${kind}" ${status} ${error ?? ''}`))].join(', ');
}
