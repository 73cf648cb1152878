/**
 * Compares two replicas on one Postgres with one: exchanges a second. Each replica is pinned to a core. A control group
 * limits it to a part of this core, so that the load generator and Postgres have the rest of both cores and do not limit
 * the rate. Needs Linux, two cores, and root.
 */

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { cpuSeconds, cpuSecondsWithChildren, pinToCore } from '../machine.ts';
import { driveClosedLoop, type Target } from './load.ts';
import { withTestbed } from './testbed.ts';

const SHARE_OF_A_CORE = 0.4;
const PERIOD_US = 20_000;
/** Requests under way at each replica. */
const CONCURRENCY = 16;
const SECONDS = 3;
const ROUNDS = 3;
/** Requests a second of a replica, before any was measured. No replica is faster with its share of a core. */
const FASTEST = 1000;
/** Requests that a round prepares for a replica, as a multiple of the fastest round. */
const HEADROOM = 1.3;

/** @returns the ratio of each round, or none where replicas cannot be limited */
export async function measureTwoReplicas(): Promise<readonly number[]> {
  const ratios: number[] = [];
  await withTestbed(async ({ start, cleanup }) => {
    const first = await start('postgres');
    const second = await first.replica();
    const pids = [first.process.pid, second.pid];
    const removals: (() => void)[] = [];
    // The processes end before their control groups are removed.
    cleanup(() => {
      for (const remove of removals) remove();
    });
    cleanup(first.process.stop);
    cleanup(second.stop);
    for (const [core, pid] of pids.entries()) {
      const remove = pinToCore(pid, core) ? limitCpu(pid) : undefined;
      if (remove === undefined) {
        console.log('two replicas: NOT measured. This needs Linux, two cores, taskset, and root for control groups.');
        return;
      }
      removals.push(remove);
    }
    const targets = [first.process, second].map(
      ({ issuer }): Target => ({ host: '127.0.0.1', port: Number(new URL(issuer).port) }),
    );
    const { prepare, expected, databasePid = 0 } = first.exchange;
    const cpuOfOthers = () => (cpuSecondsWithChildren(databasePid) ?? 0) + (cpuSeconds(process.pid) ?? 0);

    let fastest = FASTEST / HEADROOM;

    /** Exchanges a second that these replicas serve together. */
    const rateOf = async (replicas: readonly Target[]): Promise<number> => {
      const options = { concurrency: CONCURRENCY, seconds: SECONDS, expected };
      const prepared = [];
      for (const target of replicas)
        prepared.push({ target, requests: await prepare(Math.ceil(fastest * HEADROOM * SECONDS)) });
      const before = cpuOfOthers();
      const loads = await Promise.all(
        prepared.map(({ target, requests }) => driveClosedLoop(target, requests, options)),
      );
      const rate = loads.reduce((sum, { answered, seconds }) => sum + answered / seconds, 0);
      const others = ((cpuOfOthers() - before) / SECONDS).toFixed(2);
      console.log(
        `exchanges of ${replicas.length} replicas: ${rate.toFixed(0)} a second; the load generator and Postgres: ${others} cores`,
      );
      return rate;
    };
    fastest = (await rateOf(targets)) / targets.length;
    for (let round = 0; round < ROUNDS; round += 1) {
      const one = await rateOf(targets.slice(round % 2, (round % 2) + 1));
      fastest = Math.max(fastest, one);
      const both = await rateOf(targets);
      ratios.push(both / one);
    }
  });
  return ratios;
}

/**
 * Limits the CPU time of a process with all its threads.
 *
 * @returns a function that removes the control group once it is empty. `undefined` if that is not possible
 */
function limitCpu(pid: number): (() => void) | undefined {
  const isSecondVersion = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const group = `/sys/fs/cgroup/${isSecondVersion ? '' : 'cpu/'}mandate-bench-${pid}`;
  try {
    mkdirSync(group);
  } catch {
    return undefined;
  }
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
