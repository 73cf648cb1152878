/** `mandate` as an operator starts it: a process of its own, from its sources, with settings in its environment. */

import { type ChildProcess, spawn } from 'node:child_process';
import { variableOf } from '../../composition/startup-error.ts';
import { asProgram } from '../../scripts/from-source.ts';

const MAIN = new URL('../../composition/main.ts', import.meta.url);

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
  /** Milliseconds from its start. */
  readonly took: number;
}

export interface CommandProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves with its output so far once it holds this text; rejects when the process ends without. */
  said(text: string): Promise<string>;
}

/** @param settings by key; nothing else is in its environment */
export function startCommand(
  args: readonly string[],
  settings: Readonly<Record<string, string | undefined>>,
): CommandProcess {
  const variables = Object.entries(settings).flatMap(([key, value]) =>
    value === undefined ? [] : [[variableOf(key), value] as const],
  );
  const program = asProgram(MAIN);
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...program, ...args], {
    env: { PATH: process.env.PATH, ...Object.fromEntries(variables) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const ended = new Promise<Ended>((resolve) =>
    child.once('close', (code) => resolve({ code, out, err, took: performance.now() - startedAt })),
  );
  return {
    child,
    ended,
    said: (text) =>
      new Promise((resolve, reject) => {
        const look = () => out.includes(text) && resolve(out);
        child.stdout.on('data', look);
        void ended.then(() => reject(new Error(`it ended: ${out}${err}`)));
        look();
      }),
  };
}
