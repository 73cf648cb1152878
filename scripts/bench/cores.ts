/** Cores of their own for the service and for the load, as they have them where they are two machines. */

import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/**
 * The first core for some processes, the others for the rest; with what they have started, but for processes. Without it
 * a load that grows takes from the service what it is meant to measure.
 *
 * @returns whether it was done: it takes Linux, `taskset` and two cores
 */
export function apart(first: readonly number[], others: readonly number[]): boolean {
  const cores = availableParallelism();
  if (process.platform !== 'linux' || cores < 2) return false;
  try {
    for (const pid of first) pin(pid, '0');
    for (const pid of others) pin(pid, `1-${cores - 1}`);
    return true;
  } catch {
    return false;
  }
}

function pin(pid: number, cores: string): void {
  execFileSync('taskset', ['-acp', cores, String(pid)], { stdio: 'ignore' });
}
