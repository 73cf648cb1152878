/** The command line as an operator runs it: a process of its own, with nothing but the settings it is given. */

import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { variableOf } from '../../../composition/startup-error.ts';
import { asProgram } from '../../../scripts/from-source.ts';

const MAIN = fileURLToPath(new URL('../../../composition/main.ts', import.meta.url));
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunningMandate {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** @param shell what the process is started through, for limits that only a shell can set: `ulimit -f 8` */
export function startCommand(
  args: readonly string[],
  settings: Readonly<Record<string, string>>,
  shell?: string,
): RunningMandate {
  const environment = Object.fromEntries(Object.entries(settings).map(([key, value]) => [variableOf(key), value]));
  const line = [process.execPath, ...asProgram(MAIN), ...args];
  const [program = '', ...rest] = shell === undefined ? line : ['sh', '-c', `${shell}; exec "$@"`, 'sh', ...line];
  const child = spawn(program, rest, {
    cwd: ROOT,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, out, err })));
  return { child, ended };
}

export function runCommand(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
  shell?: string,
): Promise<Ended> {
  return startCommand(args, settings, shell).ended;
}
