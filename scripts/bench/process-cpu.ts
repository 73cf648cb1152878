/** CPU time of another process, from the kernel's own count, so that every server is measured alike. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Seconds of CPU, user and system, that the process has used; `undefined` where there is no `/proc`. */
export function processCpuSeconds(pid: number): number | undefined {
  if (process.platform !== 'linux') {
    return undefined;
  }
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // proc(5): the second field is the command in parentheses, which may hold spaces; utime and stime are 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[14 - 3]) + Number(fields[15 - 3])) / ticksPerSecond();
}

let ticks: number | undefined;

function ticksPerSecond(): number {
  ticks ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'latin1' }));
  return ticks;
}
