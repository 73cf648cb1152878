/**
 * One run of the benchmark: starts all servers anew, pins them, and measures every workload in rounds that alternate.
 *
 * Pinned, the service that is measured has the first core to itself, with all its threads (on SQLite also that of the
 * database). The load generator and Postgres have the other cores. So the rate depends on the service only, as long as
 * the others are not busy all the time, which is measured too. A last round runs without pins.
 */

import { cpuSeconds, cpuSecondsWithChildren, type Pinned, pinToSeparateCores, unpin } from '../machine.ts';
import { driveClosedLoop } from './load.ts';
import type { BenchOptions } from './options.ts';
import { type Measurement, type Summary, summarise } from './report.ts';
import { withTestbed } from './testbed.ts';
import { CONCURRENCY, type Workload } from './workload.ts';

/** The figures of one run, as they are kept in a file. */
export interface Run {
  readonly pinned: readonly Summary[];
  readonly unpinned: readonly Summary[];
  /** Milliseconds from each start of the service until it was ready, by database. */
  readonly readyAfter: Readonly<Record<string, readonly number[]>>;
}

const STARTS = 3;
/** Requests to each server. Until then it runs code that is not compiled yet, and the compiler itself takes CPU time. */
const WARM_UP_REQUESTS = 6000;
/** Longer than any load, which ends when its requests are sent. */
const UNTIL_SENT = 600;
/** Requests that show how fast a workload is, so that its rounds last as long as they should. */
const TRIAL_REQUESTS = 300;

export async function measureRun({ databases, rounds, seconds }: BenchOptions): Promise<Run> {
  let run: Run | undefined;
  await withTestbed(async ({ start, peerInMemory }) => {
    const workloads: Workload[] = [(await peerInMemory()).workload];
    const alsoUnpinned = [...workloads];
    const readyAfter: Record<string, readonly number[]> = {};
    for (const engine of databases) {
      const mandate = await start(engine, { starts: STARTS });
      const frequent = [mandate.exchange, mandate.refresh, mandate.introspection];
      const peer = await mandate.peerThatStores();
      workloads.push(peer.workload, ...frequent, mandate.secondExchange, mandate.newEnding);
      alsoUnpinned.push(...frequent);
      readyAfter[engine] = mandate.readyAfter;
    }
    const pinned = processesOf(workloads);
    await Promise.all(pinned.services.map((pid) => warmUp(workloads.filter((workload) => workload.pid === pid))));
    if (!pinToSeparateCores(pinned)) console.log('NOT pinned: that needs Linux, taskset and two cores.');
    const rates = new Map<Workload, number>();
    for (const workload of workloads) rates.set(workload, (await measure(workload, 0, TRIAL_REQUESTS)).rate);
    const whilePinned = await measureRounds(workloads, rates, rounds, seconds);
    unpin(pinned);
    const after = await measureRounds(alsoUnpinned, rates, 1, seconds);
    run = {
      pinned: summarise(whilePinned),
      unpinned: summarise(after),
      readyAfter,
    };
  });
  if (run === undefined) throw new Error('the run was not measured');
  return run;
}

export function processesOf(workloads: readonly Workload[]): Pinned {
  const databases = workloads.flatMap(({ databasePid }) => databasePid ?? []);
  return { services: [...new Set(workloads.map(({ pid }) => pid))], others: [process.pid, ...new Set(databases)] };
}

/** All workloads of one server, one after the other. The servers are warmed up at the same time. */
export async function warmUp(workloads: readonly Workload[]): Promise<void> {
  for (const { target, expected, prepare, inRound } of workloads) {
    const requests = await prepare(inRound ?? WARM_UP_REQUESTS / workloads.length);
    await driveClosedLoop(target, requests, { concurrency: CONCURRENCY, seconds: UNTIL_SENT, expected });
  }
}

/** Every second round has the reverse order, so that other load on the machine affects all workloads. */
async function measureRounds(
  workloads: readonly Workload[],
  rates: ReadonlyMap<Workload, number>,
  rounds: number,
  seconds: number,
): Promise<readonly Measurement[]> {
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const workload of round % 2 === 1 ? workloads : [...workloads].reverse()) {
      const count = workload.inRound ?? Math.ceil((rates.get(workload) ?? 0) * seconds);
      measurements.push(await measure(workload, round, count));
    }
  }
  return measurements;
}

async function measure(workload: Workload, round: number, count: number): Promise<Measurement> {
  const { name, target, pid, databasePid, expected } = workload;
  const requests = await workload.prepare(count);
  const seconds = () => ({
    service: cpuSeconds(pid) ?? Number.NaN,
    database: databasePid === undefined ? undefined : cpuSecondsWithChildren(databasePid),
    generator: cpuSeconds(process.pid) ?? Number.NaN,
  });
  const before = seconds();
  const load = await driveClosedLoop(target, requests, { concurrency: CONCURRENCY, seconds: UNTIL_SENT, expected });
  const after = seconds();
  const database = before.database === undefined ? undefined : (after.database ?? Number.NaN) - before.database;
  const measurement = {
    workload: name,
    round,
    rate: load.answered / load.seconds,
    cpu: ((after.service - before.service) * 1000) / load.answered,
    databaseCpu: database && (database * 1000) / load.answered,
    busy: (after.service - before.service) / load.seconds,
    othersBusy: (after.generator - before.generator + (database ?? 0)) / load.seconds,
    latencies: load.latencies,
  };
  console.log(
    `round ${round}  ${name.padEnd(28)} ${measurement.rate.toFixed(0).padStart(6)} a second, ` +
      `${measurement.cpu.toFixed(3)} ms CPU each, its core ${percent(measurement.busy)} busy, the others ${percent(measurement.othersBusy)}`,
  );
  return measurement;
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}
