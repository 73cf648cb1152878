/** Runs `mandate`, or another program of this repository, as a child process, from the sources, with only these settings in its environment. */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { asProgram } from '../../scripts/from-source.ts';
import { environmentOf } from './mandate.ts';

const MAIN = new URL('../../composition/main.ts', import.meta.url);

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface CommandProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves with the output once it contains the text. Rejects if the process ends before. */
  said(text: string): Promise<string>;
  /** The same for standard error. */
  complained(text: string): Promise<string>;
}

type Settings = Readonly<Record<string, string | undefined>>;

/** @param shell a command that the shell of the process runs first, such as `ulimit -f 8` */
export function startCommand(args: readonly string[], settings: Settings, shell?: string, main = MAIN): CommandProcess {
  const line = [process.execPath, ...asProgram(main), ...args];
  const [program = '', ...rest] = shell === undefined ? line : ['sh', '-c', `${shell}; exec "$@"`, 'sh', ...line];
  const child = spawn(program, rest, {
    env: { PATH: process.env.PATH, ...environmentOf(settings) },
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
  const contains = (stream: Readable, read: () => string, text: string) =>
    new Promise<string>((resolve, reject) => {
      const look = () => read().includes(text) && resolve(read());
      stream.on('data', look);
      void ended.then(() => reject(new Error(`the process ended: ${out}${err}`)));
      look();
    });
  return {
    child,
    ended,
    said: (text) => contains(child.stdout, () => out, text),
    complained: (text) => contains(child.stderr, () => err, text),
  };
}

export function runCommand(args: readonly string[], settings: Settings = {}, shell?: string): Promise<Ended> {
  return startCommand(args, settings, shell).ended;
}
