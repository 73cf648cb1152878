/** Runs a program of docs/examples in a child process. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { fromSource } from '../../scripts/from-source.ts';

type Environment = Readonly<Record<string, string>>;

/** Node's arguments by which docs/examples/README.md runs an example: `npx tsx`, without npx. */
export const WITH_TSX: readonly string[] = ['--import', 'tsx'];

export interface ExampleServer {
  readonly url: string;
  readonly child: ChildProcess;
  /** The lines it printed after its address. */
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

/** Starts an example that prints its address. */
export async function startExample(
  name: string,
  environment: Environment,
  how: readonly string[] = fromSource,
): Promise<ExampleServer> {
  const { child, stdout } = spawnExample(name, environment, how);
  const lines: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(`${name} ended`)));
    createInterface(stdout).on('line', (line) => {
      const [, address] = /^Listening on (.+)$/.exec(line) ?? [];
      if (address === undefined) lines.push(line);
      else resolve(address);
    });
  });
  return {
    ...{ url, child, lines },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** Runs an example to its end. */
export async function runExample(
  name: string,
  environment: Environment,
  how: readonly string[] = fromSource,
): Promise<{ readonly code: unknown; readonly output: string; readonly errors: string }> {
  const { child, stdout, stderr } = spawnExample(name, environment, how);
  let [output, errors] = ['', ''];
  stdout.on('data', (chunk) => {
    output += String(chunk);
  });
  stderr.on('data', (chunk) => {
    errors += String(chunk);
  });
  const [code] = await once(child, 'close');
  return { code, output, errors };
}

function spawnExample(name: string, environment: Environment, how: readonly string[]) {
  const root = new URL('../../', import.meta.url);
  const file = fileURLToPath(new URL(`docs/examples/${name}`, root));
  const child = spawn(process.execPath, [...how, file], {
    cwd: fileURLToPath(root),
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, stdout: child.stdout, stderr: child.stderr };
}
