/**
 * `npm run bench`: measures exchange, refresh and introspection on SQLite and Postgres. For comparison, it measures
 * another server (the peer) on the same machine in the same run. docs/performance.md describes the method.
 *
 * testbed.ts starts an identity provider and Mandate (mandate.ts), peer.ts the peer. load.ts sends a workload
 * (workload.ts) at full speed, and report.ts prints the rates. Each other program of this folder measures one thing,
 * and its comment has its command.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { cpuSeconds, cpuSecondsWithChildren, describeMachine } from '../machine.ts';
import { driveClosedLoop } from './load.ts';
import { type BenchOptions, readOptions, usage } from './options.ts';
import { startPeer } from './peer.ts';
import { judge, type Measurement, replaceFigures, summarise, table } from './report.ts';
import { withTestbed } from './testbed.ts';
import { CONCURRENCY, FASTEST, type Workload } from './workload.ts';

const PAGE = new URL('../../docs/performance.md', import.meta.url);
/** Long enough for the JIT compiler and the connection pools. */
const WARM_UP_SECONDS = 2;
/** Requests that a round prepares, as a multiple of the fastest round. If they run out, the round ends early. */
const HEADROOM = 1.3;

async function main(options: BenchOptions): Promise<void> {
  await withTestbed(async ({ start, cleanup }) => {
    const peer = await startPeer();
    cleanup(peer.stop);
    const workloads: Workload[] = [peer.workload];
    const ready: string[] = [];
    for (const engine of options.databases) {
      const mandate = await start(engine);
      workloads.push(mandate.exchange, mandate.refresh, mandate.introspection);
      ready.push(`${Math.round(mandate.process.readyAfter)} ms on ${engine}`);
    }
    const figures = describe(options, await runRounds(workloads, options), peer.workload.name, ready);
    console.log(`\n${figures}`);
    if (options.write) writeFileSync(PAGE, replaceFigures(readFileSync(PAGE, 'utf8'), figures));
  });
}

/** Workloads alternate, in reverse order in every second round, so that other load on the machine affects all of them. */
async function runRounds(
  workloads: readonly Workload[],
  { rounds, seconds }: BenchOptions,
): Promise<readonly Measurement[]> {
  const fastest = new Map<Workload, number>();
  for (const workload of workloads) {
    const { rate } = await measure(workload, 0, WARM_UP_SECONDS, FASTEST);
    fastest.set(workload, rate);
  }
  const measurements: Measurement[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const workload of round % 2 === 1 ? workloads : [...workloads].reverse()) {
      const known = fastest.get(workload) ?? 0;
      const measurement = await measure(workload, round, seconds, known * HEADROOM);
      fastest.set(workload, Math.max(known, measurement.rate));
      measurements.push(measurement);
      const { rate, cpu } = measurement;
      const perRequest = cpu === undefined ? '' : `, ${cpu.toFixed(2)} ms CPU each`;
      console.log(`round ${round}  ${workload.name.padEnd(34)} ${Math.round(rate)} a second${perRequest}`);
    }
  }
  return measurements;
}

async function measure(workload: Workload, round: number, seconds: number, fastest: number): Promise<Measurement> {
  const { name, target, pid, databasePid, expected } = workload;
  const databaseCpu = () => (databasePid === undefined ? undefined : cpuSecondsWithChildren(databasePid));
  const requests = workload.prepare(Math.ceil(fastest * seconds) + CONCURRENCY);
  const before = [cpuSeconds(pid), databaseCpu()];
  const load = await driveClosedLoop(target, requests, { concurrency: CONCURRENCY, seconds, expected });
  const after = [cpuSeconds(pid), databaseCpu()];
  const [cpu, database] = after.map((end, nth) => {
    const start = before[nth];
    return end === undefined || start === undefined ? undefined : ((end - start) * 1000) / load.answered;
  });
  return {
    workload: name,
    round,
    rate: load.answered / load.seconds,
    cpu,
    databaseCpu: database,
    latencies: load.latencies,
  };
}

function describe(
  { seconds, rounds, databases }: BenchOptions,
  measurements: readonly Measurement[],
  reference: string,
  ready: readonly string[],
): string {
  const summaries = summarise(measurements, reference);
  const only = databases.length === 1 ? ` --only ${databases[0]}` : '';
  const command = `npm run bench -- --seconds ${seconds} --rounds ${rounds}${only}`;
  return [
    ...describeMachine(new Date()).map((line) => `- ${line}`),
    `- Command: \`${command}\`, ${CONCURRENCY} requests at once`,
    `- Ready after start: ${ready.join(', ')}`,
    '',
    table(summaries),
    '',
    ...judge(summaries, reference).map((line) => `- ${line}`),
  ].join('\n');
}

const options = readOptions(process.argv.slice(2));
if (typeof options === 'string') {
  console.error(`${options}\n\n${usage}`);
  process.exitCode = 2;
} else {
  await main(options);
}
