/** Has a service collect its garbage, to see how much memory is alive (`collecting.mjs`). */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export interface Collector {
  /** What Node is given before the service's own program. */
  readonly preload: readonly string[];
  /** @throws when the process does not get to it within a minute */
  collect(pid: number): Promise<Alive>;
  close(): void;
}

export interface Alive {
  /** Resident, the least of the moments after the collection. */
  readonly megabytes: number;
  /** Of these, on the main thread's heap. */
  readonly heapMegabytes: number;
}

const LIMIT_MS = 60_000;
/** V8 gives pages back on other threads. */
const GIVEN_BACK_MS = 2_000;
const POLL_MS = 100;

export function openCollector(): Collector {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-collected-'));
  const said = join(folder, 'said');
  const program = new URL(`collecting.mjs?${new URLSearchParams({ said })}`, import.meta.url);
  return {
    preload: ['--import', program.href],
    async collect(pid) {
      rmSync(said, { force: true });
      process.kill(pid, 'SIGUSR2');
      for (const until = performance.now() + LIMIT_MS; !existsSync(said); await pause(POLL_MS)) {
        if (performance.now() > until) throw new Error('the service did not collect its garbage');
      }
      let megabytes = residentMegabytes(pid);
      for (const until = performance.now() + GIVEN_BACK_MS; performance.now() < until; await pause(POLL_MS)) {
        megabytes = Math.min(megabytes, residentMegabytes(pid));
      }
      return { megabytes, heapMegabytes: Number(readFileSync(said, 'utf8')) / 1024 ** 2 };
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export function residentMegabytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  if (kilobytes === undefined) throw new Error(`process ${pid} has no memory`);
  return Number(kilobytes) / 1024;
}
