/**
 * Measures the effect of slow clients on other clients:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/slow-senders.ts [sqlite|postgres] [seconds]
 *
 * Sends exchanges at half the ceiling, alternately alone and beside 300 slow clients (slow-clients.ts, another process).
 * There are three periods of each kind, of this many seconds. The service has its default configuration without rate
 * limits, because all load comes from one address. Exits with 1 if an exchange is not answered 200. Also exits with 1 if
 * the p99 beside slow clients is more than twice the p99 alone (the median of three ratios).
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { fromSource } from '../from-source.ts';
import { describeMachine } from '../machine.ts';
import type { Engine } from '../temporary-database.ts';
import { driveOpenLoop, type Target } from './load.ts';
import { median, percentile } from './report.ts';
import { withTestbed } from './testbed.ts';
import { measureCeiling, rateOf, type Workload } from './workload.ts';

const SLOW_CLIENTS = 300;
const ROUNDS = 3;
/** The maximum ratio of the p99 beside slow clients to the p99 alone. */
const GOAL = 2;
const SHARE_OF_CEILING = 0.5;
const CEILING_SECONDS = 3;

async function main(engine: Engine, seconds: number): Promise<void> {
  await withTestbed(async ({ start }) => {
    const { exchange } = await start(engine, { Service__Overload__Enabled: 'true' }, 1);
    for (const line of describeMachine(new Date())) console.log(`- ${line}`);
    // The first measurement warms up the service.
    await measureCeiling(exchange, CEILING_SECONDS);
    const rate = SHARE_OF_CEILING * rateOf(await measureCeiling(exchange, CEILING_SECONDS));
    console.log(`- exchanges at ${Math.round(rate)} a second, half of the ceiling`);
    const ratios: number[] = [];
    let isServed = true;
    for (let round = 0; round < ROUNDS; round += 1) {
      const alone = await measure('alone', exchange, rate, seconds);
      const clients = await startSlowClients(exchange.target);
      const beside = await measure(`beside ${SLOW_CLIENTS} slow clients`, exchange, rate, seconds);
      console.log(`- slow clients disconnected by the service: ${await stopSlowClients(clients)}`);
      ratios.push(beside.p99 / alone.p99);
      isServed &&= alone.isServed && beside.isServed;
    }
    const ratio = median(ratios);
    const isReached = ratio <= GOAL && isServed;
    const verdict = isReached ? 'reached' : 'NOT reached';
    console.log(`- p99 beside them at most ${GOAL} times as long: ${ratio.toFixed(2)}, ${verdict}`);
    if (!isReached) process.exitCode = 1;
  });
}

async function measure(
  name: string,
  { target, prepare }: Workload,
  rate: number,
  seconds: number,
): Promise<{ readonly p99: number; readonly isServed: boolean }> {
  const { byStatus, lost } = await driveOpenLoop(target, prepare(Math.ceil(rate * seconds)), { rate, seconds });
  const { count = 0, latencies = new Float64Array([0]) } = byStatus.get(200) ?? {};
  const unserved = [...byStatus].flatMap(([status, one]) => (status === 200 ? [] : `${one.count} answered ${status}`));
  if (lost > 0) unserved.push(`${lost} lost`);
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map((share) => percentile(latencies, share));
  console.log(
    `- ${name}: ${count} served, p50 ${milliseconds(p50)}, p99 ${milliseconds(p99)}, ` +
      `${unserved.join(', ') || 'no others'}; load ${(loadavg()[0] ?? 0).toFixed(1)}`,
  );
  return { p99, isServed: count > 0 && unserved.length === 0 };
}

async function startSlowClients({ host, port }: Target): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('./slow-clients.ts', import.meta.url));
  const child = fork(program, [host, String(port), String(SLOW_CLIENTS)], { execArgv: [...fromSource] });
  await once(child, 'message');
  return child;
}

async function stopSlowClients(child: ChildProcess): Promise<string> {
  const message = once(child, 'message');
  child.send('stop');
  const [counts]: Record<string, number>[] = await message;
  await once(child, 'exit');
  const disconnected = Object.entries(counts ?? {}).map(([kind, count]) => `${kind} ${count}`);
  return disconnected.join(', ') || 'none';
}

function milliseconds(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

const [engine = 'sqlite', seconds = '20'] = process.argv.slice(2);
if ((engine !== 'sqlite' && engine !== 'postgres') || !/^[1-9]\d?$/.test(seconds)) {
  console.error('slow-senders.ts [sqlite|postgres] [seconds, from 1 to 99]');
  process.exitCode = 2;
} else {
  await main(engine, Number(seconds));
}
