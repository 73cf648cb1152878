/** A soak run: half the ceiling for a long time. Memory, file descriptors and Postgres sessions must not grow. */

import { setTimeout as pause } from 'node:timers/promises';
import { CONNECTIONS_PER_PROCESS } from '../../../adapters/storage/postgres/limits.ts';
import { withCleanup } from '../../cleanup.ts';
import { type Collector, type LiveMemory, memoryOf, openCollector } from '../collector.ts';
import { descriptorsOf } from '../descriptors.ts';
import { wallClock } from '../operations.ts';
import { type RunResult, type Testbed, type TestbedOptions, withTestbed } from '../testbed.ts';
import { atRate, unanswered, unserved } from './served.ts';

interface SoakOptions extends Omit<TestbedOptions, 'replicas'> {
  readonly minutes: number;
  readonly warmUpMinutes: number;
  readonly print: (line: string) => void;
}

interface Memory {
  /** Minutes since the start of the fixed rate. */
  readonly minute: number;
  /** Resident memory. */
  readonly megabytes: number;
}

export interface Sample extends Memory {
  /** The open descriptors except connections of clients, who open more of them when responses take longer. */
  readonly descriptors: number;
  readonly clients: number;
  /** Sessions in Postgres. 0 on SQLite. */
  readonly sessions: number;
}

export interface Collection extends Memory, LiveMemory {}

/** More growth than this is a leak. */
const MEGABYTES_A_MINUTE = 1;
/** The limit of resident memory, including garbage. */
const MEGABYTES = 400;
/** The allowed growth from the first to the last third of the run, because the pool opens and closes sessions. */
const DESCRIPTORS_MORE = 10;
const CEILING_SECONDS = 10;
const SAMPLE_MS = 10_000;

export function soak({ minutes, warmUpMinutes, print, ...options }: SoakOptions): Promise<RunResult> {
  if (minutes <= warmUpMinutes) throw new Error('a soak must be longer than its warm-up');
  return withCleanup(async (cleanup) => {
    const collector = openCollector();
    cleanup(collector.close);
    const program = [...collector.preload, ...options.program];
    return withTestbed({ ...options, program }, async (testbed) => {
      const { driver } = testbed;
      await testbed.start();
      await pause(CEILING_SECONDS * 500);
      const before = await driver.count();
      await pause(CEILING_SECONDS * 1000);
      const ceiling = ((await driver.count()) - before) / CEILING_SECONDS;
      const perSecond = Math.max(1, Math.floor(ceiling / 2));
      print(`ceiling ${Math.round(ceiling)} requests a second; from now on ${perSecond}`);
      driver.setRate({ perSecond, newConnections: false });
      const from = wallClock();
      const { samples, collections } = await observe(testbed, collector, { minutes, warmUpMinutes, print });
      const result = await testbed.finish();
      const growth = judge(
        samples.filter(({ minute }) => minute >= warmUpMinutes),
        collections,
      );
      const atFixedRate = result.operations.filter(({ began }) => began >= from);
      const [rate, share] = [atRate(atFixedRate, perSecond), unserved(atFixedRate)];
      const losses = [...growth.losses, ...rate.losses, ...share.losses, ...unanswered(result.operations)];
      const asked = `${perSecond} requests a second for ${minutes} minutes, half of a ceiling of ${Math.round(ceiling)}`;
      return {
        ...result,
        losses: [...result.losses, ...losses],
        figures: [asked, rate.figure, share.figure, ...growth.figures],
      };
    });
  });
}

/** Takes samples, and collects garbage twice: after the warm-up and at the end. */
async function observe(
  { services: [service], postgres }: Testbed,
  collector: Collector,
  { minutes, warmUpMinutes, print }: Pick<SoakOptions, 'minutes' | 'warmUpMinutes' | 'print'>,
): Promise<{ readonly samples: readonly Sample[]; readonly collections: readonly Collection[] }> {
  const samples: Sample[] = [];
  const collections: Collection[] = [];
  const began = performance.now();
  const minuteNow = () => (performance.now() - began) / 60_000;
  const collect = async () => collections.push({ minute: minuteNow(), ...(await collector.collect(service.pid())) });
  print('| minute | resident MB | descriptors | clients | sessions |\n|---:|---:|---:|---:|---:|');
  for (let printed = -1; minuteNow() < minutes; await pause(SAMPLE_MS)) {
    const { own: descriptors, clients } = descriptorsOf(service.pid(), service.port);
    const [megabytes, minute] = [memoryOf(service.pid()), minuteNow()];
    const [row] = (await postgres?.query(SESSIONS)) ?? [];
    const sessions = Number(row?.sessions ?? 0);
    samples.push({ minute, megabytes, descriptors, clients, sessions });
    // The run collects twice only, because between the two collections the service must collect its garbage as usual.
    if (minute >= warmUpMinutes && collections.length === 0) await collect();
    if (Math.floor(minute) === printed) continue;
    printed = Math.floor(minute);
    print(`| ${printed} | ${megabytes.toFixed(1)} | ${descriptors} | ${clients} | ${sessions} |`);
  }
  await collect();
  return { samples, collections };
}

const SESSIONS = "select count(*) as sessions from pg_stat_activity where application_name = 'mandate'";

/** Judges what was measured after the warm-up. */
export function judge(
  samples: readonly Sample[],
  collections: readonly Collection[],
): { readonly figures: readonly string[]; readonly losses: readonly string[] } {
  const resident = slope(samples);
  const live = slope(collections);
  const most = (field: 'megabytes' | 'clients' | 'sessions') => Math.max(0, ...samples.map((one) => one[field]));
  const third = Math.ceil(samples.length / 3);
  const first = mean(samples.slice(0, third).map(({ descriptors }) => descriptors));
  const last = mean(samples.slice(-third).map(({ descriptors }) => descriptors));
  const liveSizes = collections.map(
    ({ megabytes, heapMegabytes }) => `${megabytes.toFixed(0)} MB, ${heapMegabytes.toFixed(0)} on the heap`,
  );
  const lossIf = (isLoss: boolean, loss: string) => (isLoss ? [loss] : []);
  return {
    figures: [
      `memory grows by ${resident.toFixed(2)} MB a minute after the warm-up, and is ${most('megabytes').toFixed(0)} MB at most`,
      `live memory grows by ${live.toFixed(2)} MB a minute: ${liveSizes.join('; ')}`,
      `descriptors ${first.toFixed(0)} to ${last.toFixed(0)}, sessions at most ${most('sessions')}`,
      `connections of clients at most ${most('clients')}, besides those descriptors`,
    ],
    losses: [
      ...lossIf(samples.length < 3 || collections.length < 2, 'there are too few samples'),
      ...lossIf(resident >= MEGABYTES_A_MINUTE, `memory grows by ${resident.toFixed(2)} MB a minute`),
      ...lossIf(live >= MEGABYTES_A_MINUTE, `live memory grows by ${live.toFixed(2)} MB a minute`),
      ...lossIf(most('megabytes') >= MEGABYTES, `there were ${most('megabytes').toFixed(0)} MB resident`),
      ...lossIf(last - first > DESCRIPTORS_MORE, `there are ${(last - first).toFixed(0)} descriptors more at the end`),
      ...lossIf(most('sessions') > CONNECTIONS_PER_PROCESS, `there were ${most('sessions')} sessions in Postgres`),
    ],
  };
}

/** Megabytes a minute, by the method of least squares. */
function slope(samples: readonly Memory[]): number {
  const [x, y] = [mean(samples.map(({ minute }) => minute)), mean(samples.map(({ megabytes }) => megabytes))];
  const over = samples.reduce((sum, { minute, megabytes }) => sum + (minute - x) * (megabytes - y), 0);
  const under = samples.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0);
  return under === 0 ? 0 : over / under;
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}
