/**
 * Mocha hooks that write the CPU seconds of each test file for .ci/run, one line a file: loading it, its tests, and the
 * processes that these started and that have ended. Postgres and other servers of the whole run belong to no file.
 */

import { appendFileSync, readFileSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

/** CPU seconds of this process and its ended children. Elsewhere than on Linux, children are not counted. */
function cpuSeconds() {
  if (process.platform !== 'linux') return process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  // proc_pid_stat(5): after the name in brackets, utime, stime, cutime and cstime are the 12th to the 15th field.
  const times = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 15);
  return times.reduce((sum, ticks) => sum + Number(ticks) / TICKS_PER_SECOND, 0);
}

let before = 0;

export const mochaHooks = {
  afterAll() {
    const { suites, tests } = this.test.parent;
    const file = [...suites, ...tests][0]?.file;
    const now = cpuSeconds();
    appendFileSync(process.env.CPU_OF_FILES, `${(now - before).toFixed(2)} ${file}\n`);
    before = now;
  },
};
