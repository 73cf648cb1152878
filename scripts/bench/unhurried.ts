/**
 * Measures the latency of exchanges on a service that is not busy, and that of the peer: one request at a time, 50 a
 * second.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/unhurried.ts [seconds] [rounds]
 *
 * Exits with 1 if the p99 of the median round is above 10 ms on a database.
 */

import { describeMachine } from '../machine.ts';
import { driveClosedLoop } from './load.ts';
import { startPeer } from './peer.ts';
import { median, percentile } from './report.ts';
import { withTestbed } from './testbed.ts';
import { measureCeiling, type Workload } from './workload.ts';

const RATE = 50;
/** At full load, so that the compiler has done its work: at 50 a second it would compete with the requests for minutes. */
const WARM_UP_SECONDS = 5;
const P99_GOAL_MS = 10;

const [seconds = 10, rounds = 5] = process.argv.slice(2).map(Number);

await withTestbed(async ({ start, cleanup }) => {
  const peer = await startPeer();
  cleanup(peer.stop);
  const workloads = [peer.workload, (await start('sqlite')).exchange, (await start('postgres')).exchange];
  console.log(describeMachine(new Date()).join('\n'));
  for (const workload of workloads) await measureCeiling(workload, WARM_UP_SECONDS);
  const results = new Map<Workload, { readonly p50: number; readonly p99: number }[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const workload of workloads) {
      const latencies = await measure(workload, seconds);
      const at = (share: number) => percentile(latencies, share);
      results.set(workload, [...(results.get(workload) ?? []), { p50: at(0.5), p99: at(0.99) }]);
    }
  }
  for (const [{ name }, all] of results) {
    const [p50, p99] = [median(all.map((one) => one.p50)), median(all.map((one) => one.p99))];
    const each = all.map((one) => one.p99.toFixed(1)).join(', ');
    console.log(`${name.padEnd(34)} p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (of each round: ${each})`);
    if (name !== peer.workload.name && !(p99 <= P99_GOAL_MS)) process.exitCode = 1;
  }
});

async function measure({ target, expected, prepare }: Workload, duration: number): Promise<Float64Array> {
  const requests = prepare(duration * RATE);
  const options = { concurrency: 1, seconds: duration, expected, everyMs: 1000 / RATE };
  return (await driveClosedLoop(target, requests, options)).latencies;
}
