/**
 * What one instance does when more comes than it can serve:
 *
 *     npm run build
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/overload.ts [sqlite|postgres] [seconds] [rounds]
 *
 * The ceiling is what it serves when 32 are always under way. Then requests come at once, twice and three times that
 * rate, whether or not they are answered, each in several rounds: of what was served the median counts, and everybody is
 * answered in each. Then twice the ceiling comes with a connection for each request; and while the token endpoint is at
 * twice its ceiling, revocations and introspections come beside it. The service is the built one, as it is configured by
 * default but for rate limits, all load coming from one address. Exits with 1 where a goal is not reached.
 */

import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { ceilingOf } from './ceiling.ts';
import { apart } from './cores.ts';
import type { MandateUnderTest } from './mandate.ts';
import { type Answered, driveOpenLoop, type OpenLoopResult } from './open-loop.ts';
import { describePlace } from './place.ts';
import { type Database, onStage } from './stage.ts';
import { median, percentile } from './statistics.ts';

const FACTORS = [1, 2, 3];
/** At twice and three times the ceiling: of it served at least, and at most for a refusal, in memory, and for what is asked beside. */
const GOALS = { share: 0.9, refusedMs: 1200, megabytes: 400, besideMs: 250 };
/** A second, beside a saturated token endpoint. */
const BESIDE = { introspection: 100, revocation: 30 };

async function main(database: Database, seconds: number, rounds: number): Promise<void> {
  await onStage(async (stage) => {
    const tasks = (BESIDE.revocation + 1) * seconds;
    const mandate = await stage.start(database, { Service__Overload__Enabled: 'true' }, tasks);
    for (const line of describePlace(new Date())) console.log(`- ${line}`);
    if (!apart([mandate.process.pid], [process.pid])) console.log('- the load and the service share every core');
    const goals = [...(await overTheCeiling(mandate, seconds, rounds)), ...(await besideIt(mandate, seconds))];
    for (const [says, isReached] of goals) console.log(`- ${says}: ${isReached ? 'reached' : 'NOT reached'}`);
    if (goals.some(([, isReached]) => !isReached)) process.exitCode = 1;
  });
}

type Judged = readonly (readonly [says: string, isReached: boolean])[];

async function overTheCeiling(
  { exchange, process: { pid } }: MandateUnderTest,
  seconds: number,
  rounds: number,
): Promise<Judged> {
  await ceilingOf(exchange, 2);
  const judged: (readonly [string, boolean])[] = [];
  for (const factor of FACTORS) {
    const shares: number[] = [];
    let isEverybodyAnswered = true;
    for (let round = 0; round < rounds; round += 1) {
      // Measured before and after, since the machine may have other things to do at another time.
      const before = await ceilingOf(exchange, 3);
      const rate = before * factor;
      const requests = exchange.prepare(Math.ceil(rate * seconds));
      const result = await driveOpenLoop(exchange.target, requests, { rate, seconds });
      const ceiling = median([before, await ceilingOf(exchange, 3)]);
      const [served, refused] = [statusOf(result, 200), statusOf(result, 503)];
      const rateServed = served.meanwhile / result.seconds;
      shares.push(rateServed / ceiling);
      const areRefusedInTime = refused.count === 0 || percentile(refused.latencies, 1) <= GOALS.refusedMs;
      isEverybodyAnswered &&= areRefusedInTime && result.lost === 0 && others(result) === 0;
      console.log(
        `- ${factor} times ${described(result, ceiling)}; at most ${residentMegabytes(pid)} MB; load ${load()}`,
      );
    }
    if (factor === 1) continue;
    const share = median(shares);
    judged.push(
      [
        `at ${factor} times the ceiling, serves at least ${percent(GOALS.share)} of it: ${percent(share)}`,
        share >= GOALS.share,
      ],
      [
        `at ${factor} times the ceiling, answers everybody, and refuses within ${GOALS.refusedMs} ms`,
        isEverybodyAnswered,
      ],
    );
  }
  const ceiling = await ceilingOf(exchange, 3);
  const fresh = { rate: 2 * ceiling, seconds, isConnectionEach: true };
  const result = await driveOpenLoop(exchange.target, exchange.prepare(Math.ceil(fresh.rate * seconds)), fresh);
  console.log(`- with a connection for each, 2 times ${described(result, ceiling)}`);
  const megabytes = residentMegabytes(pid);
  return [...judged, [`stays under ${GOALS.megabytes} MB`, megabytes < GOALS.megabytes]];
}

function described(result: OpenLoopResult, ceiling: number): string {
  const [served, refused] = [statusOf(result, 200), statusOf(result, 503)];
  const rateServed = served.meanwhile / result.seconds;
  return (
    `the ceiling of ${inFigures(ceiling)} a second: offered ${inFigures(result.offered)}, ` +
    `served ${inFigures(rateServed)} (${percent(rateServed / ceiling)}) in ${times(served)}, ` +
    `refused ${inFigures(refused.meanwhile / result.seconds)} in ${times(refused)}, ` +
    `other answers ${others(result)}, lost ${result.lost}`
  );
}

async function besideIt({ exchange, introspection, revocation }: MandateUnderTest, seconds: number): Promise<Judged> {
  const rate = 2 * (await ceilingOf(exchange, 2));
  const [loud, ...quiet] = [
    { contender: exchange, rate },
    { contender: introspection, rate: BESIDE.introspection },
    { contender: revocation, rate: BESIDE.revocation },
  ].map(({ contender, rate }) => ({ contender, rate, requests: contender.prepare(Math.ceil(rate * seconds)) }));
  if (loud === undefined) return [];
  const alone = await Promise.all(
    quiet.map((one) => driveOpenLoop(exchange.target, one.requests, { ...one, seconds: 1 })),
  );
  const [, ...beside] = await Promise.all(
    [loud, ...quiet.map((one) => ({ ...one, requests: one.requests.slice(one.rate) }))].map((one) =>
      driveOpenLoop(exchange.target, one.requests, { rate: one.rate, seconds: seconds - 1 }),
    ),
  );
  return quiet.map(({ contender }, at) => {
    const [before, during] = [alone[at], beside[at]];
    if (before === undefined || during === undefined) throw new Error('not every load was measured');
    const [quietly, busily] = [statusOf(before, 200), statusOf(during, 200)];
    console.log(
      `- ${contender.name}: alone ${times(quietly)}; beside a token endpoint at twice its ceiling ${times(busily)}, ` +
        `${during.lost + others(during) + statusOf(during, 503).count} of ${busily.count} not served; load ${load()}`,
    );
    const isServed = during.lost === 0 && others(during) === 0 && statusOf(during, 503).count === 0;
    const p99 = percentile(busily.latencies, 0.99);
    return [`${contender.name} beside it, p99 of at most ${GOALS.besideMs} ms`, isServed && p99 <= GOALS.besideMs];
  });
}

const NONE: Answered = { count: 0, meanwhile: 0, latencies: new Float64Array(0) };

function statusOf({ byStatus }: OpenLoopResult, status: number): Answered {
  return byStatus.get(status) ?? NONE;
}

function others({ byStatus }: OpenLoopResult): number {
  return [...byStatus].reduce((sum, [status, { count }]) => sum + (status === 200 || status === 503 ? 0 : count), 0);
}

function times({ latencies, count }: Answered): string {
  if (count === 0) return 'no time';
  const [half, most, longest] = [0.5, 0.99, 1].map((share) => inFigures(percentile(latencies, share)));
  return `p50 ${half}, p99 ${most}, at most ${longest} ms`;
}

/** Linux keeps the peak itself; elsewhere 0. */
function residentMegabytes(pid: number): number {
  try {
    const [, kilobytes = '0'] = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return Math.round(Number(kilobytes) / 1024);
  } catch {
    return 0;
  }
}

function inFigures(value: number): string {
  return String(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`;
}

function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}

const [database = 'sqlite', seconds = '8', rounds = '3'] = process.argv.slice(2);
const isKnown = database === 'sqlite' || database === 'postgres';
if (!isKnown || !/^[1-9]\d?$/.test(seconds) || Number(seconds) < 3 || !/^[1-9]$/.test(rounds)) {
  console.error('overload.ts [sqlite|postgres] [seconds, from 3 to 99] [rounds, from 1 to 9]');
  process.exitCode = 2;
} else {
  await main(database, Number(seconds), Number(rounds));
}
