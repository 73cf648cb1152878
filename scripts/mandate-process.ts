/** Runs Mandate in a child process as in production: `migrate` once, then `serve`, configured by the environment only. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { variableOf } from '../composition/settings/startup-error.ts';
import { freePort } from './free-port.ts';
import { fromSource } from './from-source.ts';

export interface MandateProcess {
  readonly issuer: string;
  readonly pid: number;
  /** Milliseconds from the start of `serve` until `/readyz` answered 200. */
  readonly readyAfter: number;
  /** The file that receives the output of the process. */
  readonly logFile: string;
  /** Resolves when the process has ended, for whatever reason. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

export class MandateDidNotStart extends Error {
  override readonly name = 'MandateDidNotStart';
}

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Node's arguments for the built program, as it is installed. */
export const builtProgram: readonly string[] = [join(root, 'dist', 'composition', 'main.js')];
/** Node's arguments for the sources, without a build. */
export const sourceProgram: readonly string[] = [...fromSource, join(root, 'composition', 'main.ts')];

/** The time limit of a start. The goal is one second. */
const START_TIMEOUT_MS = 20_000;
/** The time limit of a request to `/readyz`. */
const READY_TIMEOUT_MS = 3_000;
const POLL_MS = 20;
/** The service needs up to ten seconds to finish requests under way. */
const STOP_TIMEOUT_MS = 12_000;
/** How much of the log's end an error shows. */
const LOG_TAIL_CHARACTERS = 2000;

/**
 * @param settings environment variables of the specification ("Configuration rules"), for example
 * `Service__Admin__ApiKey`. The issuer and the address are added; `PORT` may name the port. Settings in this process's own environment are not
 * passed on
 * @param folder for the log
 * @param schema `applied` leaves out `migrate`, as a second replica needs
 * @throws MandateDidNotStart with the end of the log
 */
export async function startMandate(
  settings: Readonly<Record<string, string>>,
  folder: string,
  program: readonly string[] = builtProgram,
  schema: 'to be applied' | 'applied' = 'to be applied',
): Promise<MandateProcess> {
  const port = Number(settings.PORT ?? (await freePort()));
  const issuer = `http://127.0.0.1:${port}`;
  const logFile = join(folder, 'mandate.log');
  const environment = {
    Service__Issuer: issuer,
    HOST: '127.0.0.1',
    PORT: String(port),
    ...settings,
  };

  if (schema === 'to be applied') await migrate(program, environment, logFile);

  const started = performance.now();
  const child = spawnMandate([...program, 'serve'], environment, logFile);
  const ended = once(child, 'exit').then(() => undefined);
  try {
    await untilReady(child, issuer, logFile, START_TIMEOUT_MS);
  } catch (error) {
    child.kill('SIGKILL');
    throw error;
  }
  return {
    issuer,
    pid: child.pid ?? 0,
    readyAfter: performance.now() - started,
    logFile,
    ended,
    stop: () => stop(child),
  };
}

/** Settings as environment variables. */
export function asVariables(settings: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(settings).map(([key, value]) => [variableOf(key), value]));
}

async function migrate(
  program: readonly string[],
  environment: Readonly<Record<string, string>>,
  logFile: string,
): Promise<void> {
  const migration = spawnMandate([...program, 'migrate'], environment, logFile);
  await once(migration, 'exit');
  if (migration.exitCode !== 0) {
    throw new MandateDidNotStart(`"mandate migrate" ended with ${migration.exitCode}. ${tail(logFile)}`);
  }
}

/**
 * Starts Node with these arguments, and appends the output to the log file.
 *
 * @param environment is added to this process's environment, from which settings are removed
 */
export function spawnMandate(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  logFile: string,
): ChildProcess {
  const log = openSync(logFile, 'a');
  try {
    const env = { ...environmentWithoutSettings(), ...environment };
    return spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', log, log] });
  } finally {
    closeSync(log);
  }
}

/**
 * Waits until `/readyz` answers 200. @throws MandateDidNotStart if the process ends first, or the time limit is reached
 */
export async function untilReady(child: ChildProcess, url: string, logFile: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (performance.now() < deadline) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new MandateDidNotStart(
        `"mandate serve" ended with ${child.exitCode ?? child.signalCode}. ${tail(logFile)}`,
      );
    }
    // A kept-alive connection might belong to an earlier process at this address.
    const init = { headers: { connection: 'close' }, signal: AbortSignal.timeout(READY_TIMEOUT_MS) };
    const status = await fetch(`${url}/readyz`, init).then(
      (answer) => answer.status,
      () => undefined,
    );
    if (status === 200) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new MandateDidNotStart(`"mandate serve" was not ready within ${timeoutMs / 1000} s. ${tail(logFile)}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) {
    return;
  }
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  const patience = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await gone;
  clearTimeout(patience);
}

function environmentWithoutSettings(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('service__')),
  );
}

function tail(logFile: string): string {
  const lines = readFileSync(logFile, 'utf8').split('\n');
  const events = lines.filter((line) => !line.includes('"message":"request"')).join('\n');
  return `Its log ends with:\n${events.slice(-LOG_TAIL_CHARACTERS)}`;
}
