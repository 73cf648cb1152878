/** Half of what the service can do, for as long as is asked for, and what that leaves behind in memory and descriptors. */

import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { CONNECTIONS_PER_PROCESS } from '../../../adapters/persistence/postgres/limits.ts';
import { wallClock } from '../load/wall-clock.ts';
import type { Reconciled } from '../reconciliation/reconcile.ts';
import { descriptorsOf } from '../stage/descriptors.ts';
import { openStage, type Stage, type StageOptions } from '../stage/stage.ts';
import { atRate, unanswered, unserved } from './served.ts';

export interface SoakingOptions extends StageOptions {
  readonly minutes: number;
  readonly warmUpMinutes: number;
  readonly print: (line: string) => void;
}

export interface Soaked {
  readonly outcome: Reconciled;
  readonly figures: readonly string[];
}

export interface Memory {
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
/** With garbage. */
const MEGABYTES = 400;
/** How often garbage is collected, to see what is alive; seldom, since otherwise the service does that when it likes. */
const COLLECTIONS = 5;
const COLLECTING = ['--import', new URL('../stage/collecting.mjs', import.meta.url).href];
/** Pages are given back beside the service. */
const GIVEN_BACK_MS = 2_000;
/** Descriptors of the last third beyond those of the first: sessions come and go. */
const DESCRIPTORS_MORE = 10;
const CEILING_SECONDS = 10;
const SAMPLE_MS = 10_000;

export async function soaking(options: SoakingOptions): Promise<Soaked> {
  const { minutes, warmUpMinutes, print } = options;
  const stage = await openStage({ ...options, program: [...COLLECTING, ...options.program] });
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
    const { samples, alive } = await sampled(stage, options);
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

interface Sampled {
  readonly samples: readonly Sample[];
  /** Memory right after garbage was collected, from the end of the warm-up on. */
  readonly alive: readonly Memory[];
}

async function sampled(stage: Stage, { minutes, warmUpMinutes, print }: SoakingOptions): Promise<Sampled> {
  const samples: Sample[] = [];
  const alive: Memory[] = [];
  const began = performance.now();
  const minuteNow = () => (performance.now() - began) / 60_000;
  const between = (minutes - warmUpMinutes) / (COLLECTIONS - 1);
  print('| minute | resident MB | descriptors | clients | sessions |\n|---:|---:|---:|---:|---:|');
  for (let printed = -1; minuteNow() < minutes; await pause(SAMPLE_MS)) {
    const sample = { minute: minuteNow(), ...(await lookAt(stage)) };
    samples.push(sample);
    if (sample.minute >= warmUpMinutes + alive.length * between) alive.push(await collected(stage, minuteNow()));
    if (Math.floor(sample.minute) === printed) continue;
    printed = Math.floor(sample.minute);
    const { megabytes, descriptors, clients, sessions } = sample;
    print(`| ${printed} | ${megabytes.toFixed(1)} | ${descriptors} | ${clients} | ${sessions} |`);
  }
  alive.push(await collected(stage, minuteNow()));
  return { samples, alive };
}

async function collected({ servers: [server] }: Stage, minute: number): Promise<Memory> {
  if (server === undefined) throw new Error('nobody serves');
  process.kill(server.pid(), 'SIGUSR2');
  let megabytes = Number.POSITIVE_INFINITY;
  for (const until = performance.now() + GIVEN_BACK_MS; performance.now() < until; await pause(GIVEN_BACK_MS / 20)) {
    megabytes = Math.min(megabytes, residentMegabytes(server.pid()));
  }
  return { minute, megabytes };
}

async function lookAt({ database, servers: [server] }: Stage): Promise<Omit<Sample, 'minute'>> {
  if (server === undefined) throw new Error('nobody serves');
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

function residentMegabytes(pid: number): number {
  const [, kilobytes = '0'] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) / 1024;
}

/**
 * @param samples those after the warm-up
 * @param alive memory right after garbage was collected, after the warm-up
 */
export function judged(
  samples: readonly Sample[],
  alive: readonly Memory[],
): { figures: readonly string[]; losses: readonly string[] } {
  const grows = `memory that is alive grows by ${slopeOf(alive).toFixed(2)} MB a minute`;
  const most = Math.max(0, ...samples.map(({ megabytes }) => megabytes)).toFixed(0);
  const third = Math.ceil(samples.length / 3);
  const [first, last] = [samples.slice(0, third), samples.slice(-third)];
  const descriptors = [first, last].map((part) => mean(part.map((sample) => sample.descriptors)));
  const grown = (descriptors[1] ?? 0) - (descriptors[0] ?? 0);
  const sessions = Math.max(0, ...samples.map((sample) => sample.sessions));
  const clients = Math.max(0, ...samples.map((sample) => sample.clients));
  return {
    figures: [
      `${grows} after the warm-up (${alive.map(({ megabytes }) => megabytes.toFixed(0)).join(', ')})`,
      `with garbage it grows by ${slopeOf(samples).toFixed(2)} MB a minute, and is ${most} MB at most`,
      `descriptors ${descriptors.map((count) => count.toFixed(0)).join(' to ')}, sessions at most ${sessions}`,
      `connections of clients at most ${clients}, beside those descriptors`,
    ],
    losses: [
      ...(samples.length < 3 || alive.length < 3 ? ['there are too few samples to judge by'] : []),
      ...(slopeOf(alive) >= MEGABYTES_A_MINUTE ? [grows] : []),
      ...(Number(most) >= MEGABYTES ? [`there were ${most} MB resident`] : []),
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
