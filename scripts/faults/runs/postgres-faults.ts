/** Runs in which it is Postgres that something happens to, again and again, while the service stays up. */

import { setTimeout as pause } from 'node:timers/promises';
import { wallClock } from '../load/wall-clock.ts';
import type { Reconciled } from '../reconciliation/reconcile.ts';
import type { StageDatabase } from '../stage/database.ts';
import { openStage, type StageOptions } from '../stage/stage.ts';
import { type Respite, recovery } from './recovery.ts';
import { unanswered } from './served.ts';

export interface PostgresFault {
  /** Brings it about, and resolves once its cause is gone; told how often it happened before. */
  readonly strike: (database: StageDatabase, nth: number) => Promise<void>;
  readonly times: number;
  /** How long the service is left alone before each, and after the last, in milliseconds. */
  readonly respiteMs: number;
}

export interface PostgresOutcome {
  readonly outcome: Reconciled;
  readonly figures: readonly string[];
}

export async function postgresFaults(
  options: Omit<StageOptions, 'engine'>,
  { strike, times, respiteMs }: PostgresFault,
): Promise<PostgresOutcome> {
  const stage = await openStage({ ...options, engine: 'postgres' });
  try {
    await stage.begin();
    await pause(respiteMs);
    const respites: Respite[] = [];
    for (let nth = 0; nth < times; nth++) {
      await strike(stage.database, nth);
      const from = wallClock();
      await pause(respiteMs);
      respites.push({ from, until: nth === times - 1 ? Number.POSITIVE_INFINITY : wallClock() });
    }
    await Promise.all(stage.servers.map((server) => server.untilReady()));
    const outcome = await stage.end();
    const { figure, faults } = recovery(outcome.kept, respites);
    const losses = [...outcome.losses, ...faults, ...unanswered(outcome.kept)];
    return { outcome: { ...outcome, losses }, figures: [figure] };
  } finally {
    await stage.close();
  }
}

function postgresOf({ postgres }: StageDatabase) {
  if (postgres === undefined) throw new Error('there is no Postgres to do anything to');
  return postgres;
}

/** Stopped as by an operator and, every other time, as by a crash; down for a second. */
export async function restart(database: StageDatabase, nth: number, downMs = 1_000): Promise<void> {
  const postgres = postgresOf(database);
  await postgres.halt(nth % 2 === 0 ? 'fast' : 'immediate');
  await pause(downMs);
  await postgres.start();
}

export async function freeze(database: StageDatabase, frozenMs: number): Promise<void> {
  const postgres = postgresOf(database);
  postgres.freeze();
  await pause(frozenMs);
  postgres.thaw();
}

const TERMINATE = `select count(pg_terminate_backend(pid)) as ended from pg_stat_activity
  where application_name = 'mandate' and backend_type = 'client backend'`;

/** @returns how many sessions were ended */
export async function terminateBackends({ sql }: StageDatabase, everyMs: number, forMs: number): Promise<number> {
  let ended = 0;
  for (const until = wallClock() + forMs; wallClock() < until; await pause(everyMs)) {
    ended += Number((await sql(TERMINATE))[0]?.ended);
  }
  if (ended === 0) throw new Error('the service had no sessions that could be ended');
  return ended;
}
