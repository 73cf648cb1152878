/** A server in Python, behind the proxy of the guard. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const PYTHON_PROGRAM = process.env.PYTHON ?? '/usr/bin/python3';

export const isPythonInstalled = existsSync(PYTHON_PROGRAM);

/** @param program prints its port in the first line. Its folder is empty */
export async function startPython(program: string): Promise<{ readonly url: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-upstream-'));
  const child = spawn(PYTHON_PROGRAM, ['-c', program], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      await ended(child);
      rmSync(folder, { recursive: true });
    },
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
