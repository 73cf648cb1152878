/**
 * The guard as `@mandate/tool-server` has it, as a process with a fake control plane, for the programs that measure it. The
 * package is compiled anew, into a folder that is removed afterwards.
 */

import { execFileSync, spawn } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  AUDIENCE,
  type FakeControlPlane,
  startFakeControlPlane,
} from '../../test/support/tool-server/control-plane.ts';
import type { Cleanup } from '../cleanup.ts';
import { freePort } from '../free-port.ts';
import type { Target } from './load.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const START_TIMEOUT_MS = 10_000;
const POLL_MS = 20;

export interface GuardProcess {
  readonly target: Target;
  readonly pid: number;
}

export interface Guarded {
  readonly plane: FakeControlPlane;
  /**
   * @param more lines of the file
   * @param issuer the value of this field, in YAML; by default the control plane's URL
   */
  startGuard(more: readonly string[], issuer?: string): Promise<GuardProcess>;
}

export async function guarded(cleanup: Cleanup): Promise<Guarded> {
  // Inside the repository, so that the program finds its packages.
  mkdirSync(join(root, '.mandate'), { recursive: true });
  const folder = mkdtempSync(join(root, '.mandate', 'guarded-'));
  cleanup(() => rmSync(folder, { recursive: true, force: true }));
  const project = join(root, 'adapters/sdk/tool-server/tsconfig.build.json');
  execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project, '--outDir', folder]);
  const program = join(folder, 'composition/guard/mandate-guard.js');
  const plane = await startFakeControlPlane(() => Math.floor(Date.now() / 1000));
  cleanup(() => plane.stop());
  return {
    plane,
    async startGuard(more, issuer = plane.issuer) {
      const port = await freePort();
      const [file, log] = [join(folder, `${port}.yaml`), join(folder, `${port}.log`)];
      const own = [`issuer: ${issuer}`, `audience: ${AUDIENCE}`, `listen: 127.0.0.1:${port}`];
      writeFileSync(file, `${[...own, ...more].join('\n')}\n`);
      // Events and other lines are written to a file, as in production.
      const output = openSync(log, 'a');
      const child = spawn(process.execPath, [program, '--config', file], { stdio: ['ignore', output, output] });
      closeSync(output);
      cleanup(() => child.kill('SIGKILL'));
      await untilLogged(log, '"listening"');
      return { target: { host: '127.0.0.1', port }, pid: child.pid ?? 0 };
    },
  };
}

async function untilLogged(log: string, text: string): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  while (!readFileSync(log, 'utf8').includes(text)) {
    if (performance.now() > deadline) throw new Error(`The guard did not start:\n${readFileSync(log, 'utf8')}`);
    await pause(POLL_MS);
  }
}
