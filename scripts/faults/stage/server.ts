/** One `mandate serve` of a run: started, killed and started again at one address. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

export interface ServerOptions {
  /** What Node is given to run. */
  readonly program: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly port: number;
  readonly logFile: string;
}

export interface Server {
  readonly url: string;
  /** Returns at once. */
  start(): void;
  pid(): number;
  /** Whether `/readyz` answers 200 now. */
  isReady(): Promise<boolean>;
  /** @throws when it ends before, or takes too long */
  untilReady(): Promise<void>;
  /** Resolves with its exit code once it is gone, and with the signal's name where one ended it. */
  end(signal: NodeJS.Signals): Promise<number | string>;
  /** What Node was given to run, for commands beside the service. */
  readonly options: ServerOptions;
}

/** On a machine that is busy with other things as well. */
const START_LIMIT_MS = 60_000;
const POLL_MS = 15;

export function serverProcess(options: ServerOptions): Server {
  const { program, environment, port, logFile } = options;
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;
  let gone: Promise<number | string> = Promise.resolve(0);
  // The handlers of an earlier life must not be asked about a later one.
  const isReady = () =>
    fetch(`${url}/readyz`, { headers: { connection: 'close' }, signal: AbortSignal.timeout(3_000) }).then(
      ({ status }) => status === 200,
      () => false,
    );
  return {
    url,
    options,
    start() {
      const log = openSync(logFile, 'a');
      child = spawn(process.execPath, [...program, 'serve'], {
        env: { ...ownEnvironment(), ...environment, PORT: String(port) },
        stdio: ['ignore', log, log],
      });
      closeSync(log);
      gone = once(child, 'exit').then(([code, signal]) => code ?? signal);
    },
    pid: () => child?.pid ?? 0,
    isReady,
    async untilReady() {
      const until = performance.now() + START_LIMIT_MS;
      while (!(await isReady())) {
        if (child === undefined || child.exitCode !== null || performance.now() > until) {
          const lines = readFileSync(logFile, 'utf8').split('\n');
          const said = lines.filter((line) => !line.includes('"message":"request"')).slice(-20);
          throw new Error(`the service did not get ready:\n${said.join('\n')}`);
        }
        await pause(POLL_MS);
      }
    },
    async end(signal) {
      child?.kill(signal);
      return gone;
    },
  };
}

/** Runs another command of the program, with the same settings, to its end. */
export async function runCommand(
  { program, environment, logFile }: ServerOptions,
  args: readonly string[],
): Promise<number | string> {
  const log = openSync(logFile, 'a');
  const child = spawn(process.execPath, [...program, ...args], {
    env: { ...ownEnvironment(), ...environment },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const [code, signal] = await once(child, 'exit');
  return code ?? signal;
}

/** Settings of whoever runs this are not handed on. */
function ownEnvironment(): Readonly<Record<string, string | undefined>> {
  const { PATH, HOME, TMPDIR } = process.env;
  return { PATH, HOME, TMPDIR };
}
