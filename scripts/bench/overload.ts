/**
 * Measures one instance under more load than it can serve:
 *
 *     npm run build
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/overload.ts [sqlite|postgres] [seconds] [rounds]
 *
 * The ceiling is the rate with 32 requests always under way. The offered load is one, two and three times the ceiling, at
 * a fixed rate. Periods at the ceiling and of overload alternate, because a shared machine varies from minute to minute.
 * Their sums are compared. Then it measures twice the ceiling with a connection for each request. Last come introspections
 * and revocations during twice the ceiling at the token endpoint. The service has its default configuration without rate
 * limits, because all load comes from one address. Exits with 1 if a goal is missed.
 */

import { loadavg } from 'node:os';
import {
  cpuSeconds,
  cpuSecondsWithChildren,
  describeMachine,
  pinToSeparateCores,
  residentMegabytes,
} from '../machine.ts';
import type { Engine } from '../temporary-database.ts';
import { type Answers, driveOpenLoop, type OpenLoopResult } from './load.ts';
import type { MandateUnderTest } from './mandate.ts';
import { percentile } from './report.ts';
import { withTestbed } from './testbed.ts';
import { FASTEST, measureCeiling, rateOf, type Throughput, type Workload } from './workload.ts';

const FACTORS = [1, 2, 3];
/**
 * The goals at two and three times the ceiling. `share`: the part of the ceiling that is served at least. `refusedMs`: the
 * longest time of a refusal. `megabytes`: the most memory. `besideMs`: the highest p99 of introspections and revocations.
 */
const GOALS = { share: 0.7, refusedMs: 1200, megabytes: 300, besideMs: 250 };
/** A period at the ceiling, between two of overload. */
const CEILING_SECONDS = 3;
/** Requests that a period prepares, as a multiple of the fastest one. If they run out, the period ends early. */
const HEADROOM = 1.5;
/** Introspections and revocations a second, during the overload of the token endpoint. */
const BESIDE = { introspection: 100, revocation: 30 };

interface Goal {
  readonly name: string;
  readonly isReached: boolean;
}

async function main(engine: Engine, seconds: number, rounds: number): Promise<void> {
  await withTestbed(async ({ start }) => {
    const tasks = (BESIDE.revocation + 1) * seconds;
    const mandate = await start(engine, { settings: { Service__Overload__Enabled: 'true' }, tasks });
    for (const line of describeMachine(new Date())) console.log(`- ${line}`);
    const { pid, databasePid } = mandate.exchange;
    const others = databasePid === undefined ? [process.pid] : [process.pid, databasePid];
    if (!pinToSeparateCores({ services: [pid], others })) {
      console.log('- the load and the service share every core');
    }
    const goals = [...(await overload(mandate, seconds, rounds)), ...(await besideOverload(mandate, seconds))];
    for (const { name, isReached } of goals) console.log(`- ${name}: ${isReached ? 'reached' : 'NOT reached'}`);
    if (goals.some(({ isReached }) => !isReached)) process.exitCode = 1;
  });
}

async function overload(mandate: MandateUnderTest, seconds: number, rounds: number): Promise<readonly Goal[]> {
  const { exchange } = mandate;
  await measureCeiling(exchange, 2);
  const goals: Goal[] = [];
  for (const factor of FACTORS) {
    const { ceilings, overloads, cpu } = await alternate(exchange, { factor, seconds, rounds });
    const all = combine(overloads);
    const share = rateOf(served(all)) / rateOf(...ceilings);
    const shares = overloads.map((one, at) => percent(rateOf(served(one)) / rateOf(...ceilings.slice(at, at + 2))));
    console.log(`- ${factor} times ${describe(all, ceilings)}; of it in each round ${shares.join(', ')}`);
    if (factor === 1) continue;
    if (cpu !== undefined) console.log(`- ${describeCpu(all, ceilings, cpu)}`);
    const refusals = answersOf(all, 503).latencies;
    const isInTime = refusals.length === 0 || percentile(refusals, 1) <= GOALS.refusedMs;
    goals.push(
      {
        name: `at ${factor} times the ceiling, serves at least ${percent(GOALS.share)} of it: ${percent(share)}`,
        isReached: share >= GOALS.share,
      },
      {
        name: `at ${factor} times the ceiling, answers all requests, and refuses within ${GOALS.refusedMs} ms`,
        isReached: all.lost === 0 && otherAnswers(all) === 0 && isInTime,
      },
    );
  }
  const peak = () => Math.round(residentMegabytes(mandate.process.pid, 'VmHWM') ?? 0);
  const before = peak();
  const each = await alternate(exchange, { factor: 2, seconds, rounds: 2, newConnections: true });
  console.log(`- with a connection for each, 2 times ${describe(combine(each.overloads), each.ceilings)}`);
  console.log(`- at most ${before} MB, and ${peak()} with a connection for each; load ${load()}`);
  return [...goals, { name: `stays under ${GOALS.megabytes} MB`, isReached: peak() < GOALS.megabytes }];
}

interface CpuTime {
  readonly ceilings: number;
  readonly overloads: number;
  /** Of the load generator and Postgres, over all overloads. If they have no time left, they limit what is served. */
  readonly others: number;
}

interface Alternation {
  /** One period before each overload, and one after the last. */
  readonly ceilings: readonly Throughput[];
  readonly overloads: readonly OpenLoopResult[];
  /** CPU seconds, of the service over all periods of each kind. `undefined` if they cannot be read. */
  readonly cpu: CpuTime | undefined;
}

interface AlternationOptions {
  /** The offered rate, as a multiple of the ceiling that was measured just before. */
  readonly factor: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly newConnections?: boolean;
}

async function alternate(
  exchange: Workload,
  { factor, rounds, seconds, newConnections = false }: AlternationOptions,
): Promise<Alternation> {
  const ceilings: Throughput[] = [];
  const overloads: OpenLoopResult[] = [];
  const cpu = { ceilings: 0, overloads: 0, others: 0 };
  const ofService = () => cpuSeconds(exchange.pid) ?? Number.NaN;
  const ofDatabase = () => (exchange.databasePid === undefined ? 0 : cpuSecondsWithChildren(exchange.databasePid));
  const ofOthers = () => (cpuSeconds(process.pid) ?? Number.NaN) + (ofDatabase() ?? Number.NaN);
  const withCpu = async <Result>(kind: 'ceilings' | 'overloads', period: () => Promise<Result>): Promise<Result> => {
    const [before, othersBefore] = [ofService(), ofOthers()];
    const result = await period();
    cpu[kind] += ofService() - before;
    if (kind === 'overloads') cpu.others += ofOthers() - othersBefore;
    return result;
  };
  const nextCeiling = async () => {
    const fastest = ceilings.length === 0 ? FASTEST : HEADROOM * Math.max(...ceilings.map((one) => rateOf(one)));
    const ceiling = await withCpu('ceilings', () => measureCeiling(exchange, CEILING_SECONDS, fastest));
    ceilings.push(ceiling);
    return ceiling;
  };
  for (let round = 0; round < rounds; round += 1) {
    const rate = factor * rateOf(await nextCeiling());
    const requests = await exchange.prepare(Math.ceil(rate * seconds));
    const options = { rate, seconds, newConnections };
    overloads.push(await withCpu('overloads', () => driveOpenLoop(exchange.target, requests, options)));
  }
  await nextCeiling();
  return { ceilings, overloads, cpu: Number.isNaN(cpu.ceilings) ? undefined : cpu };
}

/** Measures introspections and revocations: alone for a second, then during twice the ceiling at the token endpoint. */
async function besideOverload(mandate: MandateUnderTest, seconds: number): Promise<readonly Goal[]> {
  const { exchange } = mandate;
  const { target } = exchange;
  const rate = 2 * rateOf(await measureCeiling(exchange, 2));
  const exchanges = await exchange.prepare(Math.ceil(rate * seconds));
  const others = await Promise.all(
    (['introspection', 'revocation'] as const).map(async (kind) => ({
      name: mandate[kind].name,
      rate: BESIDE[kind],
      requests: await mandate[kind].prepare(BESIDE[kind] * seconds),
    })),
  );
  const alone = await Promise.all(
    others.map((one) => driveOpenLoop(target, one.requests, { rate: one.rate, seconds: 1 })),
  );
  const [beside] = await Promise.all([
    Promise.all(
      others.map((one) =>
        driveOpenLoop(target, one.requests.slice(one.rate), { rate: one.rate, seconds: seconds - 1 }),
      ),
    ),
    driveOpenLoop(target, exchanges, { rate, seconds: seconds - 1 }),
  ]);
  return others.map(({ name }, at) => {
    const [before, during] = [alone[at], beside[at]];
    if (before === undefined || during === undefined) throw new Error('not every load was measured');
    const { latencies, count } = answersOf(during, 200);
    const unserved = during.lost + otherAnswers(during) + answersOf(during, 503).count;
    console.log(
      `- ${name}: alone ${times(answersOf(before, 200).latencies)}; beside a token endpoint at twice its ceiling ` +
        `${times(latencies)}, ${unserved} of ${count + unserved} not served; load ${load()}`,
    );
    const isReached = unserved === 0 && percentile(latencies, 0.99) <= GOALS.besideMs;
    return { name: `${name} beside it, p99 of at most ${GOALS.besideMs} ms`, isReached };
  });
}

/** The sums over several periods. */
function combine(results: readonly OpenLoopResult[]): OpenLoopResult {
  const sum = (of: (one: OpenLoopResult) => number) => results.reduce((total, one) => total + of(one), 0);
  const seconds = sum((one) => one.seconds);
  const statuses = new Set(results.flatMap(({ byStatus }) => [...byStatus.keys()]));
  const answers = (status: number): Answers => ({
    count: sum((one) => answersOf(one, status).count),
    whileSending: sum((one) => answersOf(one, status).whileSending),
    latencies: Float64Array.from(results.flatMap((one) => [...answersOf(one, status).latencies])).sort(),
  });
  return {
    offered: sum((one) => one.offered * one.seconds) / seconds,
    seconds,
    lost: sum(({ lost }) => lost),
    byStatus: new Map([...statuses].map((status) => [status, answers(status)])),
  };
}

/** The CPU time that the kernel spends outside of the process is not included. */
function describeCpu(overload: OpenLoopResult, ceilings: readonly Throughput[], cpu: CpuTime): string {
  const exchange = cpu.ceilings / ceilings.reduce((total, { answers }) => total + answers, 0);
  const refusal = (cpu.overloads - exchange * answersOf(overload, 200).count) / answersOf(overload, 503).count;
  return (
    `CPU of the service: ${(exchange * 1000).toFixed(2)} ms an exchange at the ceiling; if as much in the overload, ` +
    `${(refusal * 1000).toFixed(3)} ms a refusal; its core ${percent(cpu.overloads / overload.seconds)} busy in the ` +
    `overload, the others ${percent(cpu.others / overload.seconds)}`
  );
}

function describe(overload: OpenLoopResult, ceilings: readonly Throughput[]): string {
  const [ceiling, rate] = [rateOf(...ceilings), rateOf(served(overload))];
  const [answered, refused] = [answersOf(overload, 200), answersOf(overload, 503)];
  return (
    `the ceiling of ${figure(ceiling)} a second: offered ${figure(overload.offered)}, ` +
    `served ${figure(rate)} (${percent(rate / ceiling)}) in ${times(answered.latencies)}, ` +
    `refused ${figure(refused.whileSending / overload.seconds)} in ${times(refused.latencies)}, ` +
    `other answers ${otherAnswers(overload)}, lost ${overload.lost}`
  );
}

function served(one: OpenLoopResult): Throughput {
  return { answers: answersOf(one, 200).whileSending, seconds: one.seconds };
}

function answersOf({ byStatus }: OpenLoopResult, status: number): Answers {
  return byStatus.get(status) ?? { count: 0, whileSending: 0, latencies: new Float64Array(0) };
}

function otherAnswers({ byStatus }: OpenLoopResult): number {
  return [...byStatus].reduce((sum, [status, { count }]) => sum + (status === 200 || status === 503 ? 0 : count), 0);
}

function times(latencies: Float64Array): string {
  if (latencies.length === 0) return 'no time';
  const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => figure(percentile(latencies, share)));
  return `p50 ${p50}, p99 ${p99}, at most ${longest} ms`;
}

function figure(value: number): string {
  return String(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
}

function percent(share: number): string {
  return `${Math.floor(share * 100)}%`;
}

function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}

const [engine = 'sqlite', seconds = '10', rounds = '8'] = process.argv.slice(2);
const isKnown = engine === 'sqlite' || engine === 'postgres';
if (!isKnown || !/^[1-9]\d?$/.test(seconds) || Number(seconds) < 3 || !/^[1-9]\d?$/.test(rounds)) {
  console.error('overload.ts [sqlite|postgres] [seconds, from 3 to 99] [rounds, from 1 to 99]');
  process.exitCode = 2;
} else {
  await main(engine, Number(seconds), Number(rounds));
}
