/** Controls the process of the load generator (driver-process.ts). */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fromSource } from '../../from-source.ts';
import type { Operation } from '../operations.ts';

export interface LoadOptions {
  /** The replicas, which receive the requests in rotation. */
  readonly urls: readonly string[];
  readonly issuer: string;
  readonly adminKey: string;
  readonly seed: number;
  /** Requests under way at a time. */
  readonly concurrency: number;
  /** How long a worker pauses between two requests. */
  readonly pauseMs: number;
  /** A fixed rate, instead of a fixed number of concurrent requests. */
  readonly rate?: Rate | undefined;
  /** The file to which operations are written, one a line. */
  readonly file: string;
}

export interface Rate {
  readonly perSecond: number;
  /** Whether every second request uses a new connection. */
  readonly newConnections: boolean;
}

/** The first message of the process. */
export interface Ready {
  /** Settings of the service for the identity provider and the transmitter. */
  readonly settings: Readonly<Record<string, string>>;
  readonly agents: readonly string[];
}

/** The process replies once to each `load`, `count` and `stop`. */
export type DriverMessage =
  | { readonly kind: 'load'; readonly options: LoadOptions }
  | { readonly kind: 'rate'; readonly rate: Rate }
  | { readonly kind: 'count' }
  | { readonly kind: 'stop' };

export interface Driver extends Ready {
  /** Resolves once the agents are registered and the load has begun. */
  load(options: LoadOptions): Promise<void>;
  /** Changes the load to a fixed rate. */
  setRate(rate: Rate): void;
  /** The number of operations so far. */
  count(): Promise<number>;
  /** Waits for the requests under way. Resolves with all operations, in the order in which they ended. */
  finish(): Promise<readonly Operation[]>;
  /** Ends the process, and with it the identity provider. */
  end(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('./driver-process.ts', import.meta.url));

export async function startDriver(): Promise<Driver> {
  const child = fork(PROGRAM, { execArgv: [...fromSource] });
  const gone = once(child, 'exit');
  const failed = gone.then(([code]) => Promise.reject(new Error(`the load generator ended with ${code}`)));
  failed.catch(() => undefined);
  const reply = async (): Promise<unknown> => (await Promise.race([once(child, 'message'), failed]))[0];
  const send = (message: DriverMessage) => void child.send(message);
  const ready = (await reply()) as Ready;
  let file = '';
  return {
    ...ready,
    async load(options) {
      file = options.file;
      send({ kind: 'load', options });
      await reply();
    },
    setRate: (rate) => send({ kind: 'rate', rate }),
    async count() {
      send({ kind: 'count' });
      return Number(await reply());
    },
    async finish() {
      send({ kind: 'stop' });
      await reply();
      const lines = readFileSync(file, 'utf8').trim().split('\n');
      return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
    },
    async end() {
      child.kill('SIGKILL');
      await gone;
    },
  };
}
