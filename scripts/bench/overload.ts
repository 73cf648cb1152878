/**
 * What one instance does when more comes than it can serve:
 *
 *     npm run build
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/overload.ts [sqlite|postgres] [seconds] [rounds]
 *
 * The ceiling is what it serves when 32 are always under way. Requests come at once, twice and three times that rate,
 * whether or not they are answered. Ceiling and flood take turns of a few seconds, and what is compared is all that was
 * served in the turns of either: a machine that is shared is not as fast in one minute as in the next. Then twice the
 * ceiling comes with a connection for each request; and while the token endpoint is at twice its ceiling, revocations and
 * introspections come beside it. The service is the built one, as it is configured by default but for rate limits, all
 * load coming from one address. Exits with 1 where a goal is not reached.
 */

import { readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { atCeiling, ceilingOf, type Done, FASTEST, rateOf } from './ceiling.ts';
import type { Contender } from './contender.ts';
import { apart } from './cores.ts';
import type { MandateUnderTest } from './mandate.ts';
import { type Answered, driveOpenLoop, type OpenLoopResult } from './open-loop.ts';
import { describePlace } from './place.ts';
import { processCpuSeconds } from './process-cpu.ts';
import { type Database, onStage } from './stage.ts';
import { percentile } from './statistics.ts';

const FACTORS = [1, 2, 3];
/** At twice and three times the ceiling: of it served at least, and at most for a refusal, in memory, and for what is asked beside. */
const GOALS = { share: 0.7, refusedMs: 1200, megabytes: 300, besideMs: 250 };
/** A turn at the ceiling, between two floods. */
const CEILING_SECONDS = 3;
/** How much faster a turn may be than those before, until it ends early for want of requests. */
const HEADROOM = 1.5;
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

async function overTheCeiling(mandate: MandateUnderTest, seconds: number, rounds: number): Promise<Judged> {
  const { exchange } = mandate;
  const { pid } = mandate.process;
  await ceilingOf(exchange, 2);
  const judged: (readonly [string, boolean])[] = [];
  for (const factor of FACTORS) {
    const { ceilings, floods, cpu } = await turnAbout(exchange, { factor, seconds, rounds });
    const share = rateOf(floods.map(served)) / rateOf(ceilings);
    console.log(`- ${factor} times ${described(floods, ceilings)}; of it in each round ${eachShare(floods, ceilings)}`);
    if (factor === 1) continue;
    if (cpu !== undefined) console.log(`- ${cpuOfEach(floods, ceilings, cpu)}`);
    const [refusals, isEverybodyAnswered] = [latenciesOf(floods, 503), floods.every(isAnswered)];
    judged.push(
      [
        `at ${factor} times the ceiling, serves at least ${percent(GOALS.share)} of it: ${percent(share)}`,
        share >= GOALS.share,
      ],
      [
        `at ${factor} times the ceiling, answers everybody, and refuses within ${GOALS.refusedMs} ms`,
        isEverybodyAnswered && (refusals.length === 0 || percentile(refusals, 1) <= GOALS.refusedMs),
      ],
    );
  }
  const megabytes = residentMegabytes(pid);
  const each = await turnAbout(exchange, { factor: 2, seconds, rounds: 2, isConnectionEach: true });
  console.log(`- with a connection for each, 2 times ${described(each.floods, each.ceilings)}`);
  console.log(`- at most ${megabytes} MB, and ${residentMegabytes(pid)} with a connection for each; load ${load()}`);
  return [...judged, [`stays under ${GOALS.megabytes} MB`, residentMegabytes(pid) < GOALS.megabytes]];
}

interface TurnAbout {
  /** One before each flood, and one after the last. */
  readonly ceilings: readonly Done[];
  readonly floods: readonly OpenLoopResult[];
  /** Of the service, in all of either; `undefined` where it cannot be told. */
  readonly cpu: CpuSeconds | undefined;
}

interface CpuSeconds {
  readonly ceilings: number;
  readonly floods: number;
}

interface Flood {
  /** Of the ceiling, as it was just before. */
  readonly factor: number;
  readonly seconds: number;
  readonly rounds: number;
  readonly isConnectionEach?: boolean;
}

async function turnAbout(exchange: Contender, { factor, rounds, ...how }: Flood): Promise<TurnAbout> {
  const [ceilings, floods]: [Done[], OpenLoopResult[]] = [[], []];
  const cpu = { ceilings: 0, floods: 0 };
  let fastest = FASTEST;
  const counted = async <Result>(turns: keyof CpuSeconds, turn: () => Promise<Result>): Promise<Result> => {
    const before = processCpuSeconds(exchange.pid) ?? Number.NaN;
    const result = await turn();
    cpu[turns] += (processCpuSeconds(exchange.pid) ?? Number.NaN) - before;
    return result;
  };
  const reachCeiling = () => counted('ceilings', () => atCeiling(exchange, CEILING_SECONDS, fastest));
  for (let round = 0; round < rounds; round += 1) {
    const ceiling = await reachCeiling();
    fastest = HEADROOM * Math.max(...[...ceilings, ceiling].map((one) => rateOf([one])));
    const rate = factor * rateOf([ceiling]);
    const requests = exchange.prepare(Math.ceil(rate * how.seconds));
    floods.push(await counted('floods', () => driveOpenLoop(exchange.target, requests, { rate, ...how })));
    ceilings.push(ceiling);
  }
  ceilings.push(await reachCeiling());
  return { ceilings, floods, cpu: Number.isNaN(cpu.ceilings) ? undefined : cpu };
}

/** What the system does for it outside of the process is not in it. */
function cpuOfEach(floods: readonly OpenLoopResult[], ceilings: readonly Done[], cpu: CpuSeconds): string {
  const countOf = (status: number) => floods.reduce((total, flood) => total + statusOf(flood, status).count, 0);
  const exchange = cpu.ceilings / ceilings.reduce((total, { answers }) => total + answers, 0);
  const beyond = cpu.floods - exchange * countOf(200);
  return (
    `CPU of the service: ${(exchange * 1000).toFixed(2)} ms an exchange at the ceiling; if as much in the flood, ` +
    `${((beyond / countOf(503)) * 1000).toFixed(3)} ms a refusal`
  );
}

function served(flood: OpenLoopResult): Done {
  return { answers: statusOf(flood, 200).meanwhile, seconds: flood.seconds };
}

function isAnswered(flood: OpenLoopResult): boolean {
  return flood.lost === 0 && others(flood) === 0;
}

function eachShare(floods: readonly OpenLoopResult[], ceilings: readonly Done[]): string {
  return floods.map((flood, at) => percent(rateOf([served(flood)]) / rateOf(ceilings.slice(at, at + 2)))).join(', ');
}

function latenciesOf(floods: readonly OpenLoopResult[], status: number): Float64Array {
  return Float64Array.from(floods.flatMap((flood) => [...statusOf(flood, status).latencies])).sort();
}

function described(floods: readonly OpenLoopResult[], ceilings: readonly Done[]): string {
  const sum = (of: (flood: OpenLoopResult) => number) => floods.reduce((total, flood) => total + of(flood), 0);
  const [seconds, ceiling, rate] = [sum((flood) => flood.seconds), rateOf(ceilings), rateOf(floods.map(served))];
  const offered = sum((flood) => flood.offered * flood.seconds) / seconds;
  const refused = sum((flood) => statusOf(flood, 503).meanwhile) / seconds;
  return (
    `the ceiling of ${inFigures(ceiling)} a second: offered ${inFigures(offered)}, ` +
    `served ${inFigures(rate)} (${percent(rate / ceiling)}) in ${times(latenciesOf(floods, 200))}, ` +
    `refused ${inFigures(refused)} in ${times(latenciesOf(floods, 503))}, ` +
    `other answers ${sum(others)}, lost ${sum(({ lost }) => lost)}`
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
      `- ${contender.name}: alone ${times(quietly.latencies)}; beside a token endpoint at twice its ceiling ${times(busily.latencies)}, ` +
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

function times(latencies: Float64Array): string {
  if (latencies.length === 0) return 'no time';
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
  return `${Math.floor(share * 100)}%`;
}

function load(): string {
  return (loadavg()[0] ?? 0).toFixed(1);
}

const [database = 'sqlite', seconds = '10', rounds = '8'] = process.argv.slice(2);
const isKnown = database === 'sqlite' || database === 'postgres';
if (!isKnown || !/^[1-9]\d?$/.test(seconds) || Number(seconds) < 3 || !/^[1-9]\d?$/.test(rounds)) {
  console.error('overload.ts [sqlite|postgres] [seconds, from 3 to 99] [rounds, from 1 to 99]');
  process.exitCode = 2;
} else {
  await main(database, Number(seconds), Number(rounds));
}
