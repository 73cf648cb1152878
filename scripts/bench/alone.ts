/**
 * Measures how long an exchange takes when it is the only request under way, beside the peer in memory:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/alone.ts [rounds] [seconds]
 *
 * One connection sends 50 requests a second. The rounds alternate between the servers, which are pinned as in
 * `npm run bench`. Exits with 1 if the p99 of an exchange is over the goal, and over that of the peer.
 */

import { describeMachine, pinToSeparateCores } from '../machine.ts';
import { driveClosedLoop } from './load.ts';
import { median, percentile } from './report.ts';
import { withTestbed } from './testbed.ts';
import { costOf } from './workload.ts';

const GOAL_P99_MS = 10;
const EVERY_MS = 20;
/** Until then a server runs code that is not compiled yet. */
const WARM_UP_REQUESTS = 6000;

interface Latency {
  readonly p50: number;
  readonly p99: number;
}

async function main(rounds: number, seconds: number): Promise<void> {
  await withTestbed(async ({ start, peerInMemory }) => {
    for (const line of describeMachine(new Date())) console.log(`- ${line}`);
    const [sqlite, postgres] = [await start('sqlite'), await start('postgres')];
    const workloads = [(await peerInMemory()).workload, sqlite.exchange, postgres.exchange];
    for (const workload of workloads) await costOf(workload, WARM_UP_REQUESTS);
    const services = workloads.map(({ pid }) => pid);
    const others = [process.pid, ...workloads.flatMap(({ databasePid }) => databasePid ?? [])];
    if (!pinToSeparateCores({ services, others })) console.log('- the load and the services share every core');
    const measured = new Map(workloads.map((workload): [typeof workload, Latency[]] => [workload, []]));
    for (let round = 0; round < rounds; round += 1) {
      for (const [{ target, expected, prepare }, latencies] of measured) {
        const requests = await prepare((seconds * 1000) / EVERY_MS);
        const options = { concurrency: 1, seconds: seconds + 1, expected, everyMs: EVERY_MS };
        const load = await driveClosedLoop(target, requests, options);
        latencies.push({ p50: percentile(load.latencies, 0.5), p99: percentile(load.latencies, 0.99) });
      }
    }
    const p99s = [...measured].map(([{ name }, latencies]) => {
      const [p50, p99] = [median(latencies.map((one) => one.p50)), median(latencies.map((one) => one.p99))];
      const all = latencies.map((one) => one.p99.toFixed(1)).join(', ');
      console.log(`- ${name}: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms (${all})`);
      return p99;
    });
    const [ofPeer = 0, ...ofExchanges] = p99s;
    if (ofExchanges.some((p99) => p99 > Math.max(GOAL_P99_MS, ofPeer))) process.exitCode = 1;
  });
}

const [rounds = '5', seconds = '10'] = process.argv.slice(2);
await main(Number(rounds), Number(seconds));
