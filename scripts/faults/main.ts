/**
 * Fault runs: cause one kind of fault under mixed load, then compare every response with the ledger.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/faults/main.ts FAULT [--seed 1] …
 *
 * docs/fault-runs.md lists the faults, their options and the comparisons. Exits with 1 if anything is
 * lost.
 *
 * A run (`runs`) starts a testbed (testbed.ts) with replicas (service.ts), and a process that sends load (`load`). It
 * causes its fault, stops the load, and has `checks` compare the history (operations.ts) with the ledger.
 */

import yargs from 'yargs';
import { hideBin } from 'yargs/helpers';
import { describeMachine } from '../machine.ts';
import { builtProgram } from '../mandate-process.ts';
import { isIndeterminate, longestAnswer, type Operation } from './operations.ts';
import { randomKills, replicaLoss } from './runs/kills.ts';
import { freeze, type PostgresFault, postgresFaults, restart, terminateSessions } from './runs/postgres-faults.ts';
import { soak } from './runs/soak.ts';
import { statusLists } from './runs/status-lists.ts';
import { stopUnderLoad } from './runs/stop-under-load.ts';
import { witnessKills } from './runs/witness.ts';
import type { RunResult } from './testbed.ts';

/** How long an orchestrator takes to restart a container. */
const AWAY_MS = 3000;
/** The maximum number of losses that the report lists. */
const PRINTED_LOSSES = 20;

const number = (value: number) => ({ type: 'number', default: value }) as const;
const common = {
  seed: { ...number(1), describe: 'of the random choices' },
  database: { choices: ['sqlite', 'postgres'] as const, default: 'postgres' as const },
  program: { type: 'string', default: builtProgram[0] ?? '', describe: 'another build of the service' },
} as const;

await yargs(hideBin(process.argv))
  .command(
    'kill-9',
    'kill the service at random moments',
    { ...common, kills: number(200), 'serves-ms': number(1500), replicas: number(1) },
    async ({ kills, servesMs, replicas, ...options }) => {
      const result = await randomKills({ ...testbed(options), kills, servesMs, replicas });
      print(options, `killed ${kills} times with SIGKILL on ${options.database}, replicas ${replicas}`, result);
    },
  )
  .command(
    'replica-loss',
    'kill one of several replicas (Postgres)',
    { ...common, kills: number(6), 'every-seconds': number(120), replicas: number(3), 'pause-ms': number(20) },
    async ({ kills, everySeconds, replicas, pauseMs, ...options }) => {
      const times = { everyMs: everySeconds * 1000, awayMs: AWAY_MS };
      const result = await replicaLoss({ ...testbed(options), replicas, kills, pauseMs, ...times });
      print(options, `killed one of ${replicas} replicas every ${everySeconds} s, ${kills} times`, result);
    },
  )
  .command(
    'postgres-restarts',
    'stop Postgres, every other time as by a crash, and start it again',
    { ...common, times: number(20), 'respite-ms': number(6000) },
    async ({ times, respiteMs, ...options }) => {
      const result = await postgresFaults(testbed(options), { strike: restart, times, pauseMs: respiteMs });
      print(options, `stopped and started Postgres ${times} times`, result);
    },
  )
  .command(
    'postgres-freeze',
    'suspend every process of Postgres (Linux)',
    { ...common, seconds: number(15), times: number(2), 'respite-ms': number(10_000) },
    async ({ seconds, times, respiteMs, ...options }) => {
      const strike: PostgresFault['strike'] = (postgres) => freeze(postgres, seconds * 1000);
      const result = await postgresFaults(testbed(options), { strike, times, pauseMs: respiteMs });
      print(options, `froze Postgres ${times} times for ${seconds} s`, result);
    },
  )
  .command(
    'backend-terminations',
    'terminate all sessions of the service in Postgres',
    { ...common, seconds: number(60), 'every-ms': number(100), 'respite-ms': number(8000) },
    async ({ seconds, everyMs, respiteMs, ...options }) => {
      let ended = 0;
      const strike: PostgresFault['strike'] = async (postgres) => {
        ended = await terminateSessions(postgres, everyMs, seconds * 1000);
      };
      const result = await postgresFaults(testbed(options), { strike, times: 1, pauseMs: respiteMs });
      print(options, `ended all sessions every ${everyMs} ms for ${seconds} s, ${ended} of them in all`, result);
    },
  )
  .command(
    'stop-under-load',
    'stop the service (SIGTERM) at a steady rate of requests',
    { ...common, times: number(10), rate: number(200), 'serves-ms': number(6000) },
    async ({ times, rate, servesMs, ...options }) => {
      const result = await stopUnderLoad({ ...testbed(options), perSecond: rate, times, servesMs });
      const title = `stopped one process on ${options.database} ${times} times at ${rate} requests a second`;
      print(options, title, { ...result, losses: [...result.losses, ...result.unsent] });
    },
  )
  .command(
    'status-lists',
    'kill tasks while tool servers poll status lists, under faults of lists, keys, clocks and replicas',
    { ...common, kills: number(200), 'every-ms': number(1000), 'ttl-seconds': number(5), 'max-age-ms': number(10_000) },
    async ({ kills, everyMs, ttlSeconds, maxAgeMs, ...options }) => {
      const times = { kills, everyMs, ttlSeconds, maxAgeMs };
      const { figures, losses } = await statusLists({ ...testbed(options), ...times });
      printLines([`status lists on ${options.database}, seed ${options.seed}`, ...figures], losses);
    },
  )
  .command(
    'witness',
    'kill a witness at random moments, while a log and its forks ask it',
    { seed: common.seed, program: common.program, kills: number(200), 'serves-ms': number(1000) },
    async ({ seed, program, kills, servesMs }) => {
      const { figures, losses } = await witnessKills({ program: [program], seed, kills, servesMs });
      printLines([`killed a witness ${kills} times with SIGKILL, seed ${seed}`, ...figures], losses);
    },
  )
  .command(
    'soak',
    'send half the ceiling for a long time (Linux)',
    { ...common, minutes: number(30), 'warm-up-minutes': number(10) },
    async ({ minutes, warmUpMinutes, ...options }) => {
      const log = (line: string) => console.log(line);
      const result = await soak({ ...testbed(options), minutes, warmUpMinutes, print: log });
      print(options, `a soak on ${options.database}`, result);
    },
  )
  .check((options) => {
    const bad = Object.entries(options).find(([, value]) => typeof value === 'number' && !isWholeNumber(value));
    if (bad !== undefined) throw new Error(`--${bad[0]} must be a whole number.`);
    return true;
  })
  .demandCommand(1, 'Name a fault.')
  .strict()
  .fail((message, error) => {
    // A usage error has a message. An error of a run has none.
    if (!message) throw error;
    console.error(message);
    process.exit(2);
  })
  .parseAsync();

interface Options {
  readonly seed: number;
  readonly database: 'sqlite' | 'postgres';
  readonly program: string;
}

function testbed({ seed, database, program }: Options) {
  return { engine: database, program: [program], seed };
}

function isWholeNumber(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function print({ seed }: Options, title: string, result: RunResult): void {
  const { operations, records, leftBehind, untold, auditVerify, figures, losses } = result;
  const count = (has: (one: Operation) => boolean) => operations.filter(has).length;
  const lines = [
    `${title}, seed ${seed}`,
    ...figures,
    `requests ${operations.length}: answered ${count((one) => !isIndeterminate(one))}, ` +
      `503 ${count(({ status }) => status === 503)}, no answer ${count(({ status }) => status === 0)} (of these ` +
      `${count(({ connectionRefused }) => connectionRefused === true)} found no process listening); ` +
      `the longest answer took ${Math.round(longestAnswer(operations))} ms`,
    `exchanges answered with a token ${count(({ kind, status }) => kind === 'exchange' && status === 200)}, renewals ` +
      `${count(({ kind, status }) => kind === 'refresh' && status === 200)}, refusals ${count(({ status }) => status === 400)}`,
    `asked for approval ${count(({ kind }) => kind === 'ask for approval')} times, answered with granted ` +
      `${count(({ state }) => state === 'granted')}; a yes was used up without an answer ${untold} times`,
    `records ${records}; tasks left behind by exchanges without an answer ${leftBehind}; audit-verify ${auditVerify}`,
  ];
  printLines(lines, losses);
}

function printLines(lines: readonly string[], losses: readonly string[]): void {
  for (const line of [...describeMachine(new Date()), ...lines]) console.log(`- ${line}`);
  for (const loss of losses.slice(0, PRINTED_LOSSES)) console.log(`  LOST: ${loss}`);
  console.log(losses.length === 0 ? 'Lost: nothing' : `Lost: ${losses.length}, see above`);
  if (losses.length > 0) process.exitCode = 1;
}
