/** A replica in a fault run: `mandate serve`, which can be restarted at the same address. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { spawnMandate, untilReady } from '../mandate-process.ts';

interface ServiceOptions {
  /** Node's arguments that run `mandate`. */
  readonly program: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly port: number;
  readonly logFile: string;
}

export interface Service {
  readonly url: string;
  readonly port: number;
  /**
   * Starts the process, and returns without waiting for it.
   *
   * @param changes environment variables for this start and later ones
   */
  start(changes?: Readonly<Record<string, string>>): void;
  pid(): number;
  /** @throws if the process ends, or is not ready within a minute */
  untilReady(): Promise<void>;
  /** Sends a signal. Resolves when the process has ended, with its exit code or the signal that killed it. */
  end(signal: NodeJS.Signals): Promise<number | string>;
  /** Runs another command of the program with the same settings. Resolves with its exit code. */
  run(...args: readonly string[]): Promise<number | string>;
}

/** Much longer than a start takes, because the machine may be busy. */
const START_LIMIT_MS = 60_000;

export function serviceProcess({ program, environment, port, logFile }: ServiceOptions): Service {
  const url = `http://127.0.0.1:${port}`;
  let variables = { ...environment, PORT: String(port) };
  const spawn = (...args: readonly string[]) => spawnMandate([...program, ...args], variables, logFile);
  let child: ChildProcess | undefined;
  let exit: Promise<number | string> = Promise.resolve(0);
  return {
    url,
    port,
    start(changes = {}) {
      variables = { ...variables, ...changes };
      child = spawn('serve');
      exit = exitOf(child);
    },
    pid: () => child?.pid ?? 0,
    async untilReady() {
      if (child === undefined) throw new Error('the service was not started');
      await untilReady(child, url, logFile, START_LIMIT_MS);
    },
    end(signal) {
      child?.kill(signal);
      return exit;
    },
    run: (...args) => exitOf(spawn(...args)),
  };
}

async function exitOf(child: ChildProcess): Promise<number | string> {
  const [code, signal] = await once(child, 'exit');
  return code ?? signal;
}
