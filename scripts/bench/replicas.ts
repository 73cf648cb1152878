/**
 * Compares two replicas on one Postgres with one: exchanges a second. A control group limits each replica to a fifth of a
 * core. So the machine's cores suffice for both, Postgres and the load generator. Needs Linux, and root.
 *
 *     npm run build && node --import ./scripts/typescript-loader.mjs scripts/bench/replicas.ts [seconds] [rounds]
 *
 * Exits with 1 if two replicas serve less than 1.6 times what one serves.
 */

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { describeMachine } from '../machine.ts';
import { driveClosedLoop, type Target } from './load.ts';
import { median } from './report.ts';
import { withTestbed } from './testbed.ts';

const SHARE_OF_A_CORE = 0.2;
const PERIOD_US = 20_000;
/** Requests under way at each replica. */
const CONCURRENCY = 16;
/** Requests prepared for each second and replica. No replica is faster with this share of a core. */
const FASTEST = 400;
const RATIO_GOAL = 1.6;

const [seconds = 6, rounds = 5] = process.argv.slice(2).map(Number);

/** Limits the CPU time of a process with all its threads. @returns a function that removes the group, once it is empty */
function limitCpu(pid: number): () => void {
  const isSecondVersion = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const group = `/sys/fs/cgroup/${isSecondVersion ? '' : 'cpu/'}mandate-bench-${pid}`;
  mkdirSync(group);
  const quota = PERIOD_US * SHARE_OF_A_CORE;
  if (isSecondVersion) {
    writeFileSync(`${group}/cpu.max`, `${quota} ${PERIOD_US}`);
  } else {
    writeFileSync(`${group}/cpu.cfs_period_us`, String(PERIOD_US));
    writeFileSync(`${group}/cpu.cfs_quota_us`, String(quota));
  }
  writeFileSync(`${group}/cgroup.procs`, String(pid));
  return () => rmdirSync(group);
}

await withTestbed(async ({ start, cleanup }) => {
  const first = await start('postgres');
  const second = await first.replica();
  cleanup(second.stop);
  const groups = [first.process.pid, second.pid].map(limitCpu);
  const targets = [first.process, second].map(
    ({ issuer }): Target => ({ host: '127.0.0.1', port: Number(new URL(issuer).port) }),
  );

  /** Exchanges a second that these replicas serve together. */
  const rateOf = async (replicas: readonly Target[], duration: number): Promise<number> => {
    const prepared = replicas.map(() => first.exchange.prepare(FASTEST * duration));
    const options = { concurrency: CONCURRENCY, seconds: duration, expected: first.exchange.expected };
    const loads = await Promise.all(
      replicas.map((target, nth) => driveClosedLoop(target, prepared[nth] ?? [], options)),
    );
    return loads.reduce((sum, { answered, seconds: took }) => sum + answered / took, 0);
  };

  console.log(describeMachine(new Date()).join('\n'));
  await rateOf(targets, seconds);
  const ratios: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const one = await rateOf([targets[round % 2] ?? first.exchange.target], seconds);
    const both = await rateOf(targets, seconds);
    ratios.push(both / one);
    console.log(
      `round ${round + 1}  one ${one.toFixed(0)} a second, both ${both.toFixed(0)}: ${(both / one).toFixed(2)}`,
    );
  }
  const ratio = median(ratios);
  console.log(`two replicas serve ${ratio.toFixed(2)} times what one serves`);
  if (!(ratio >= RATIO_GOAL)) process.exitCode = 1;
  await second.stop();
  await first.process.stop();
  for (const remove of groups) remove();
});
