/** Describes the machine for reports, and reads or sets CPU time, memory and CPU affinity of processes. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, release, totalmem } from 'node:os';

/** The lines at the head of every report: hardware, versions, date and commit. */
export function describeMachine(now: Date): readonly string[] {
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  return [
    `Machine: ${cpus()[0]?.model ?? 'unknown CPU'}, ${availableParallelism()} cores, ${memory}, ${platform()} ${release()} ${arch()}`,
    `Versions: Node ${process.versions.node}, oidc-provider ${packageVersion('oidc-provider')}`,
    `Date: ${now.toISOString().slice(0, 10)}, commit ${commit()}`,
  ];
}

function packageVersion(name: string): string {
  const text = readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url), 'utf8');
  const { version }: { version: string } = JSON.parse(text);
  return version;
}

function commit(): string {
  const git = (...args: readonly string[]) =>
    execFileSync('git', args, {
      cwd: new URL('..', import.meta.url),
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  try {
    const head = git('rev-parse', '--short', 'HEAD').trim();
    // Changes in docs are ignored, because `npm run bench -- --write` itself changes a page there.
    return git('status', '--porcelain', '--', '.', ':!docs') === '' ? head : `${head} with local changes`;
  } catch {
    return 'none';
  }
}

/** The kernel's `USER_HZ`: 100 on every architecture that Node supports. */
const TICKS_PER_SECOND = 100;

/**
 * CPU time (user and system) of a process with all its threads, in seconds, as the kernel counts it.
 *
 * @returns `undefined` if there is no such process, or no `/proc`
 */
export function cpuSeconds(pid: number): number | undefined {
  return sumOfFields(pid, UTIME, STIME);
}

/** CPU time of a process and its children, also of those that have ended. Running grandchildren are not included. */
export function cpuSecondsWithChildren(pid: number): number | undefined {
  const own = sumOfFields(pid, UTIME, STIME, CUTIME, CSTIME);
  return own && childrenOf(pid).reduce((sum, child) => sum + (cpuSeconds(child) ?? 0), own);
}

/** The running child processes that the main thread of a process has started. */
export function childrenOf(pid: number): readonly number[] {
  const children = procFile(pid, `task/${pid}/children`)?.split(' ') ?? [];
  return children.filter(Boolean).map(Number);
}

/** Numbers of fields in proc(5). The last two are for children that have ended. */
const [UTIME, STIME, CUTIME, CSTIME] = [14, 15, 16, 17];

function sumOfFields(pid: number, ...numbers: readonly number[]): number | undefined {
  const stat = procFile(pid, 'stat');
  // Field 2 is the command in parentheses, which may contain spaces.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields && numbers.reduce((sum, number) => sum + Number(fields[number - 3]), 0) / TICKS_PER_SECOND;
}

/**
 * Resident memory of a process in MB: its current size (VmRSS) or its peak (VmHWM).
 *
 * @returns `undefined` if there is no such process, or no `/proc`
 */
export function residentMegabytes(pid: number, field: 'VmRSS' | 'VmHWM'): number | undefined {
  const kilobytes = procFile(pid, 'status')?.match(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm'))?.[1];
  return kilobytes === undefined ? undefined : Number(kilobytes) / 1024;
}

function procFile(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return undefined;
  }
}

const CORES = availableParallelism();
/** The core of the service that is measured. */
const SERVICE_CORE = '0';
const OTHER_CORES = `1-${CORES - 1}`;
const ALL_CORES = `0-${CORES - 1}`;

export interface Pinned {
  /** The services that are measured. They share the first core, so only one of them may be busy at a time. */
  readonly services: readonly number[];
  /** Everything else: the load generator, and the database server with its child processes. */
  readonly others: readonly number[];
}

/**
 * Pins the services to the first core and everything else to the other cores, with all threads and child processes.
 * Otherwise a growing load takes CPU time from the service that is measured.
 *
 * @returns `false` if that is not possible: it needs Linux, `taskset` and two cores
 */
export function pinToSeparateCores({ services, others }: Pinned): boolean {
  // The services come last: they are child processes of the load generator, which is one of the others.
  return CORES > 1 && others.every((pid) => pin(pid, OTHER_CORES)) && services.every((pid) => pin(pid, SERVICE_CORE));
}

/** Pins a process to the core of this number. */
export function pinToCore(pid: number, core: number): boolean {
  return pin(pid, String(core));
}

/** Lets the processes use every core again. */
export function unpin({ services, others }: Pinned): void {
  for (const pid of [...services, ...others]) pin(pid, ALL_CORES);
}

function pin(pid: number, cores: string): boolean {
  if (process.platform !== 'linux') return false;
  try {
    for (const each of [pid, ...childrenOf(pid)]) {
      execFileSync('taskset', ['-acp', cores, String(each)], { stdio: 'ignore' });
    }
    return true;
  } catch {
    return false;
  }
}
