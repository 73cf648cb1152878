/** Starts a server of the benchmark as a child process, which sends its port when it listens (guarded-upstream.ts, bare-proxy.ts). */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Target } from './load.ts';

interface ChildServer {
  readonly target: Target;
  readonly origin: string;
  readonly pid: number;
  stop(): void;
}

/** @param name of the program in this folder */
export async function startChildServer(name: string, ...args: readonly string[]): Promise<ChildServer> {
  const child = fork(fileURLToPath(new URL(name, import.meta.url)), args, { execArgv: ['--import', 'tsx'] });
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${name} ended with ${code}`);
  });
  ended.catch(() => undefined);
  const [port] = await Promise.race([once(child, 'message'), ended]);
  const target = { host: '127.0.0.1', port: Number(port) };
  return {
    target,
    origin: `http://${target.host}:${target.port}`,
    pid: child.pid ?? 0,
    stop: () => child.disconnect(),
  };
}
