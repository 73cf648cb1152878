/** Half of what the service can do, for as long as is asked for, and what that leaves behind in memory and descriptors. */

import { setTimeout as pause } from 'node:timers/promises';
import { CONNECTIONS_PER_PROCESS } from '../../../adapters/storage/postgres/limits.ts';
import { wallClock } from '../load/wall-clock.ts';
import type { Reconciled } from '../reconciliation/reconcile.ts';
import { type Alive, type Collector, openCollector, residentMegabytes } from '../stage/collector.ts';
import { descriptorsOf } from '../stage/descriptors.ts';
import type { Server } from '../stage/server.ts';
import { openStage, type Stage, type StageOptions } from '../stage/stage.ts';
import { atRate, unanswered, unserved } from './served.ts';

export interface SoakingOptions extends Omit<StageOptions, 'replicas'> {
  readonly minutes: number;
  readonly warmUpMinutes: number;
  readonly print: (line: string) => void;
}

export interface Soaked {
  readonly outcome: Reconciled;
  readonly figures: readonly string[];
}

interface Memory {
  /** Since the load is at its pace. */
  readonly minute: number;
  /** Resident. */
  readonly megabytes: number;
}

export interface Sample extends Memory {
  /** Beside connections of clients, who open more of them whenever answers take longer. */
  readonly descriptors: number;
  readonly clients: number;
  /** Sessions in Postgres; 0 on SQLite. */
  readonly sessions: number;
}

/** More than this is a leak. */
const MEGABYTES_A_MINUTE = 1;
/** Resident, with garbage. */
const MEGABYTES = 400;
/** Descriptors of the last third beyond those of the first: sessions come and go. */
const DESCRIPTORS_MORE = 10;
const CEILING_SECONDS = 10;
const SAMPLE_MS = 10_000;

export async function soaking(options: SoakingOptions): Promise<Soaked> {
  if (options.minutes <= options.warmUpMinutes) throw new Error('a soak has to go on after its warm-up');
  const collector = openCollector();
  try {
    return await soakedWith(collector, options);
  } finally {
    collector.close();
  }
}

async function soakedWith(collector: Collector, options: SoakingOptions): Promise<Soaked> {
  const { minutes, warmUpMinutes, print } = options;
  const stage = await openStage({ ...options, program: [...collector.preload, ...options.program] });
  try {
    await stage.begin();
    await pause(CEILING_SECONDS * 500);
    const before = await stage.driver.count();
    await pause(CEILING_SECONDS * 1000);
    const ceiling = ((await stage.driver.count()) - before) / CEILING_SECONDS;
    const perSecond = Math.max(1, Math.floor(ceiling / 2));
    print(`ceiling ${Math.round(ceiling)} requests a second; from now on ${perSecond}`);
    stage.driver.pace({ perSecond, newConnections: false });
    const from = wallClock();
    const { samples, alive } = await sampled(stage, collector, options);
    const outcome = await stage.end();
    const { figures, losses } = judged(
      samples.filter(({ minute }) => minute >= warmUpMinutes),
      alive,
    );
    const soaked = outcome.kept.filter(({ began }) => began >= from);
    const [rate, share] = [atRate(soaked, perSecond), unserved(soaked)];
    const all = [...outcome.losses, ...losses, ...rate.losses, ...share.losses, ...unanswered(outcome.kept)];
    const asked = `${perSecond} requests a second for ${minutes} minutes, half of a ceiling of ${Math.round(ceiling)}`;
    return { outcome: { ...outcome, losses: all }, figures: [asked, rate.figure, share.figure, ...figures] };
  } finally {
    await stage.close();
  }
}

export interface Collected extends Memory, Alive {}

interface Sampled {
  readonly samples: readonly Sample[];
  /** Memory right after garbage was collected: when the warm-up was over, and at the end. */
  readonly alive: readonly Collected[];
}

async function sampled(
  stage: Stage,
  collector: Collector,
  { minutes, warmUpMinutes, print }: SoakingOptions,
): Promise<Sampled> {
  const samples: Sample[] = [];
  const alive: Collected[] = [];
  const began = performance.now();
  const minuteNow = () => (performance.now() - began) / 60_000;
  const collect = async () => alive.push({ minute: minuteNow(), ...(await collector.collect(serverOf(stage).pid())) });
  print('| minute | resident MB | descriptors | clients | sessions |\n|---:|---:|---:|---:|---:|');
  for (let printed = -1; minuteNow() < minutes; await pause(SAMPLE_MS)) {
    const sample = { minute: minuteNow(), ...(await lookAt(stage)) };
    samples.push(sample);
    // Once, and again when all is over: in between the service collects as it would by itself.
    if (sample.minute >= warmUpMinutes && alive.length === 0) await collect();
    if (Math.floor(sample.minute) === printed) continue;
    printed = Math.floor(sample.minute);
    const { megabytes, descriptors, clients, sessions } = sample;
    print(`| ${printed} | ${megabytes.toFixed(1)} | ${descriptors} | ${clients} | ${sessions} |`);
  }
  await collect();
  return { samples, alive };
}

function serverOf({ servers: [server] }: Stage): Server {
  if (server === undefined) throw new Error('nobody serves');
  return server;
}

async function lookAt(stage: Stage): Promise<Omit<Sample, 'minute'>> {
  const { database } = stage;
  const server = serverOf(stage);
  const pid = server.pid();
  const { own, clients } = descriptorsOf(pid, server.options.port);
  const counted =
    database.postgres === undefined
      ? []
      : await database.sql("select count(*) as sessions from pg_stat_activity where application_name = 'mandate'");
  return {
    megabytes: residentMegabytes(pid),
    descriptors: own,
    clients,
    sessions: Number(counted[0]?.sessions ?? 0),
  };
}

/**
 * @param samples those after the warm-up
 * @param alive memory right after garbage was collected, after the warm-up
 */
export function judged(
  samples: readonly Sample[],
  alive: readonly Collected[],
): { figures: readonly string[]; losses: readonly string[] } {
  const slope = slopeOf(samples);
  const living = slopeOf(alive);
  const most = Math.max(0, ...samples.map(({ megabytes }) => megabytes));
  const third = Math.ceil(samples.length / 3);
  const [first, last] = [samples.slice(0, third), samples.slice(-third)];
  const descriptors = [first, last].map((part) => mean(part.map((sample) => sample.descriptors)));
  const grown = (descriptors[1] ?? 0) - (descriptors[0] ?? 0);
  const sessions = Math.max(0, ...samples.map((sample) => sample.sessions));
  const clients = Math.max(0, ...samples.map((sample) => sample.clients));
  return {
    figures: [
      `memory grows by ${slope.toFixed(2)} MB a minute after the warm-up, and is ${most.toFixed(0)} MB at most`,
      `what is alive of it grows by ${living.toFixed(2)} MB a minute: ${alive
        .map(({ megabytes, heapMegabytes }) => `${megabytes.toFixed(0)} MB, ${heapMegabytes.toFixed(0)} on the heap`)
        .join('; ')}`,
      `descriptors ${descriptors.map((count) => count.toFixed(0)).join(' to ')}, sessions at most ${sessions}`,
      `connections of clients at most ${clients}, beside those descriptors`,
    ],
    losses: [
      ...(samples.length < 3 || alive.length < 2 ? ['there are too few samples to judge by'] : []),
      ...(slope >= MEGABYTES_A_MINUTE ? [`memory grows by ${slope.toFixed(2)} MB a minute`] : []),
      ...(living >= MEGABYTES_A_MINUTE ? [`what is alive of memory grows by ${living.toFixed(2)} MB a minute`] : []),
      ...(most >= MEGABYTES ? [`there were ${most.toFixed(0)} MB resident`] : []),
      ...(grown > DESCRIPTORS_MORE ? [`there are ${grown.toFixed(0)} descriptors more at the end`] : []),
      ...(sessions > CONNECTIONS_PER_PROCESS ? [`there were ${sessions} sessions in Postgres`] : []),
    ],
  };
}

/** Of the line with the least squares. */
function slopeOf(samples: readonly Memory[]): number {
  const [x, y] = [mean(samples.map(({ minute }) => minute)), mean(samples.map(({ megabytes }) => megabytes))];
  const over = samples.reduce((sum, { minute, megabytes }) => sum + (minute - x) * (megabytes - y), 0);
  const under = samples.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0);
  return under === 0 ? 0 : over / under;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
