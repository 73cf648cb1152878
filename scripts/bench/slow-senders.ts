/**
 * What slow clients take from everybody else:
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/slow-senders.ts [sqlite|postgres] [seconds]
 *
 * Exchanges come at half the ceiling, in turns alone and beside 300 clients that send heads and bodies a byte a second or
 * do not take their answers: three turns of either, of so many seconds each. The service is the built one, as it is
 * configured by default but for rate limits, all load coming from one address; those clients are a process of their own.
 * Exits with 1 where the p99 beside them is more than twice the p99 alone, in the median of the turns, or one exchange is
 * not answered 200.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { fromSource } from '../from-source.ts';
import { ceilingOf } from './ceiling.ts';
import type { Contender } from './contender.ts';
import type { Target } from './load.ts';
import { driveOpenLoop } from './open-loop.ts';
import { describePlace } from './place.ts';
import { type Database, onStage } from './stage.ts';
import { median, percentile } from './statistics.ts';

const SLOW_CLIENTS = 300;
const ROUNDS = 3;
/** Times the p99 without them, at most. */
const GOAL = 2;
const SHARE_OF_CEILING = 0.5;
const CEILING_SECONDS = 3;

async function main(database: Database, seconds: number): Promise<void> {
  await onStage(async (stage) => {
    const mandate = await stage.start(database, { Service__Overload__Enabled: 'true' }, 1);
    for (const line of describePlace(new Date())) console.log(`- ${line}`);
    await compare(mandate.exchange, seconds);
  });
}

async function compare(exchange: Contender, seconds: number): Promise<void> {
  const { target, prepare } = exchange;
  await ceilingOf(exchange, CEILING_SECONDS);
  const rate = SHARE_OF_CEILING * (await ceilingOf(exchange, CEILING_SECONDS));
  console.log(`- exchanges at ${Math.round(rate)} a second, half of what is served at most`);
  const ratios: number[] = [];
  let isServed = true;
  const measure = async (what: string): Promise<number> => {
    const { byStatus, lost } = await driveOpenLoop(target, prepare(Math.ceil(rate * seconds)), { rate, seconds });
    const served = byStatus.get(200);
    const others = [...byStatus].flatMap(([status, { count }]) =>
      status === 200 ? [] : [`${count} answered ${status}`],
    );
    if (lost > 0) others.push(`${lost} lost`);
    if (others.length > 0 || served === undefined) isServed = false;
    const [half, p99] = [0.5, 0.99].map((share) => percentile(served?.latencies ?? new Float64Array([0]), share));
    console.log(
      `- ${what}: ${served?.count ?? 0} served, p50 ${milliseconds(half)}, p99 ${milliseconds(p99)}, ${others.join(', ') || 'nobody else'}; ` +
        `load ${(loadavg()[0] ?? 0).toFixed(1)}`,
    );
    return p99 ?? 0;
  };
  for (let round = 0; round < ROUNDS; round += 1) {
    const alone = await measure('alone');
    const clients = await startSlowClients(target);
    const beside = await measure(`beside ${SLOW_CLIENTS} slow clients`);
    console.log(`- of them were sent away: ${await stopSlowClients(clients)}`);
    ratios.push(beside / alone);
  }
  const ratio = median(ratios);
  const isReached = ratio <= GOAL && isServed;
  console.log(
    `- p99 beside them at most ${GOAL} times as long: ${ratio.toFixed(2)}, ${isReached ? 'reached' : 'NOT reached'}`,
  );
  if (!isReached) process.exitCode = 1;
}

async function startSlowClients({ host, port }: Target): Promise<ChildProcess> {
  const program = fileURLToPath(new URL('./slow-clients.ts', import.meta.url));
  const child = fork(program, [host, String(port), String(SLOW_CLIENTS)], { execArgv: [...fromSource] });
  await once(child, 'message');
  return child;
}

async function stopSlowClients(child: ChildProcess): Promise<string> {
  const told = once(child, 'message');
  child.send('stop');
  const [counts]: Record<string, number>[] = await told;
  await once(child, 'exit');
  return (
    Object.entries(counts ?? {})
      .map(([kind, count]) => `${kind} ${count}`)
      .join(', ') || 'none'
  );
}

function milliseconds(value = 0): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
}

const [database = 'sqlite', seconds = '20'] = process.argv.slice(2);
if ((database !== 'sqlite' && database !== 'postgres') || !/^[1-9]\d?$/.test(seconds)) {
  console.error('slow-senders.ts [sqlite|postgres] [seconds, from 1 to 99]');
  process.exitCode = 2;
} else {
  await main(database, Number(seconds));
}
