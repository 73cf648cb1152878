/** Makes a running service collect its garbage (collect-garbage.mjs), to measure its live memory. */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { residentMegabytes } from '../machine.ts';

export interface Collector {
  /** Arguments for Node, before the program of the service. */
  readonly preload: readonly string[];
  /** @throws if the process does not collect its garbage within a minute */
  collect(pid: number): Promise<LiveMemory>;
  close(): void;
}

export interface LiveMemory {
  /** Resident memory: the minimum in the two seconds after the collection. */
  readonly megabytes: number;
  /** The main thread's heap, which is part of the resident memory. */
  readonly heapMegabytes: number;
}

const LIMIT_MS = 60_000;
/** How long V8's other threads may take to return memory to the system. */
const RELEASE_MS = 2_000;
const POLL_MS = 100;

export function openCollector(): Collector {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-collector-'));
  const file = join(folder, 'heap');
  const program = new URL(`collect-garbage.mjs?${new URLSearchParams({ file })}`, import.meta.url);
  return {
    preload: ['--expose-gc', '--import', program.href],
    async collect(pid) {
      rmSync(file, { force: true });
      process.kill(pid, 'SIGUSR2');
      for (const until = performance.now() + LIMIT_MS; !existsSync(file); await pause(POLL_MS)) {
        if (performance.now() > until) throw new Error('the service did not collect its garbage');
      }
      let megabytes = memoryOf(pid);
      for (const until = performance.now() + RELEASE_MS; performance.now() < until; await pause(POLL_MS)) {
        megabytes = Math.min(megabytes, memoryOf(pid));
      }
      return { megabytes, heapMegabytes: Number(readFileSync(file, 'utf8')) / 1024 ** 2 };
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Resident memory in MB. @throws if there is no such process */
export function memoryOf(pid: number): number {
  const megabytes = residentMegabytes(pid, 'VmRSS');
  if (megabytes === undefined) throw new Error(`there is no memory of a process ${pid}`);
  return megabytes;
}
