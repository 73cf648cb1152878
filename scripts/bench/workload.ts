/** A kind of request to a running server, and its rate under full load. */

import { cpuSeconds, cpuSecondsWithChildren } from '../machine.ts';
import { driveClosedLoop, type Target } from './load.ts';

export interface Workload {
  /** The name in the report. */
  readonly name: string;
  readonly target: Target;
  /** The process id of the server. */
  readonly pid: number;
  /** The process id of its database server. `undefined` if it has none. */
  readonly databasePid: number | undefined;
  /** Text that every response must contain. */
  readonly expected: string;
  /** Requests of one round, if each is costly to prepare. By default a round sends as many as it can. */
  readonly inRound?: number;
  /** Makes new requests. Each can be sent once, before its assertion expires (`ASSERTION_LIFETIME`). */
  prepare(count: number): Promise<readonly Buffer[]>;
}

/** Seconds: the maximum that the service accepts (specification "Client assertion rules", 2). */
export const ASSERTION_LIFETIME = 300;

/** Requests under way at a time, each on its own connection. */
export const CONCURRENCY = 32;
/** Requests a second. No workload is faster. */
export const FASTEST = 4000;

/** The responses of one or more periods. */
export interface Throughput {
  readonly answers: number;
  readonly seconds: number;
}

/** @param fastest how many requests to prepare for each second. If the service is faster, the load ends early */
export async function measureCeiling(workload: Workload, seconds: number, fastest = FASTEST): Promise<Throughput> {
  const { target, expected } = workload;
  const requests = await workload.prepare(Math.ceil(fastest * seconds) + CONCURRENCY);
  const result = await driveClosedLoop(target, requests, { concurrency: CONCURRENCY, seconds, expected });
  return { answers: result.answered, seconds: result.seconds };
}

/** Responses a second over all periods. */
export function rateOf(...periods: readonly Throughput[]): number {
  const sum = (field: keyof Throughput) => periods.reduce((total, period) => total + period[field], 0);
  return sum('answers') / sum('seconds');
}

/** Seconds, longer than any load that ends when its requests are sent. */
const UNTIL_SENT = 600;

/** The CPU time of the service and its database server for one exchange, in milliseconds. */
export async function costOf(
  { target, expected, prepare, pid, databasePid }: Workload,
  count: number,
): Promise<number> {
  const requests = await prepare(count);
  const cpu = () =>
    (cpuSeconds(pid) ?? 0) + (databasePid === undefined ? 0 : (cpuSecondsWithChildren(databasePid) ?? 0));
  const before = cpu();
  const { answered } = await driveClosedLoop(target, requests, {
    concurrency: CONCURRENCY,
    seconds: UNTIL_SENT,
    expected,
  });
  return ((cpu() - before) * 1000) / answered;
}
