/** Runs a program of docs/examples as a child process, here or in a project with the packed packages. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';
import { PYTHON } from './other-languages/languages.ts';

type Environment = Readonly<Record<string, string>>;

/** The working directory of an example, and the arguments of the program that runs it. */
export interface ExamplePlace {
  readonly folder: string;
  /** Node when absent. */
  readonly program?: string;
  argumentsFor(name: string): readonly string[];
}

const root = new URL('../../', import.meta.url);
const sourceOf = (name: string) => fileURLToPath(new URL(`docs/examples/${name}`, root));

/** As docs/examples/README.md runs an example: `npx tsx`, without npx. */
const repository: ExamplePlace = {
  folder: fileURLToPath(root),
  argumentsFor: (name) => ['--import', 'tsx', sourceOf(name)],
};

/** An example in Python, with the packages of Debian. */
export const pythonPlace: ExamplePlace = {
  folder: fileURLToPath(root),
  program: PYTHON,
  argumentsFor: (name) => [sourceOf(name)],
};

/** A project with the packages installed. The examples are compiled there: Node 20 does not run TypeScript. */
export function projectPlace(folder: string): ExamplePlace {
  return {
    folder,
    argumentsFor(name) {
      const file = join(folder, name.replace(/ts$/, 'mjs'));
      writeFileSync(file, transformSync(readFileSync(sourceOf(name)), { loader: 'ts' }).code);
      return [file];
    },
  };
}

export interface ExampleServer {
  readonly url: string;
  readonly child: ChildProcess;
  /** The lines that the example printed after its address. */
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

/** Starts an example that serves, and waits until it prints its address. */
export async function startExample(
  name: string,
  environment: Environment,
  place?: ExamplePlace,
): Promise<ExampleServer> {
  const { child, stdout } = spawnExample(name, environment, place);
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
    url,
    child,
    lines,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** Runs an example until it exits. */
export async function runExample(
  name: string,
  environment: Environment,
  place?: ExamplePlace,
): Promise<{ readonly code: unknown; readonly output: string; readonly errors: string }> {
  const { child, stdout, stderr } = spawnExample(name, environment, place);
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

function spawnExample(name: string, environment: Environment, place = repository) {
  const child = spawn(place.program ?? process.execPath, place.argumentsFor(name), {
    cwd: place.folder,
    env: { PATH: process.env.PATH, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return { child, stdout: child.stdout, stderr: child.stderr };
}
