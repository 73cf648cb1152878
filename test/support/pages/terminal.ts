/** A terminal in which a test types the commands of a page: one shell, so folders, variables and jobs stay. */

import { type SpawnOptions, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';

export interface Terminal {
  /** @returns what the commands printed. @throws if one of them fails */
  run(commands: string): Promise<string>;
  /** Ends the shell and everything that it started. */
  close(): Promise<void>;
}

/** @param account runs the shell; that of this process if absent */
export function openTerminal(
  folder: string,
  environment: Readonly<Record<string, string>> = {},
  account?: Pick<SpawnOptions, 'uid' | 'gid'>,
): Terminal {
  const { PATH = '', HOME = '' } = process.env;
  // A separate process group, to end it with all its jobs.
  const shell = spawn('bash', ['-eo', 'pipefail'], {
    ...account,
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH, HOME, ...environment },
  });
  // If this process is killed, the shell reads the end of its input, and ends its jobs.
  shell.stdin.write("trap 'kill 0' EXIT\n");
  let printed = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  const ended = once(shell, 'exit').then(() => undefined);
  return {
    async run(commands) {
      if (shell.exitCode !== null || shell.signalCode !== null) throw new Error('An earlier command ended the shell.');
      const [end, from] = [`end of ${randomUUID()}`, printed.length];
      // The commands must not read the next ones.
      shell.stdin.write(`{\n${commands}\n} < /dev/null\necho '${end}'\n`);
      while (!printed.includes(end) && shell.exitCode === null && shell.signalCode === null) {
        await Promise.race([once(shell.stdout, 'data'), ended]);
      }
      const output = printed.slice(from);
      if (!output.includes(end)) throw new Error(`A command failed:\n${commands}\nThe shell printed:\n${output}`);
      return output.replace(`${end}\n`, '').replace(/(?<!\n)$/, '\n');
    },
    async close() {
      if (shell.pid === undefined) return;
      try {
        process.kill(-shell.pid, 'SIGKILL');
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
      }
      await ended;
    },
  };
}

/** The output that a page shows, as a pattern: `…` is any text in a line; alone in a line, any number of lines. */
export function shownOutput(shown: string): RegExp {
  const lines = shown
    .trimEnd()
    .split('\n')
    .map((line) =>
      line === '…'
        ? '(?:.*\\n)*'
        : `${line
            .split('…')
            .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
            .join('.*')}\\n`,
    );
  return new RegExp(`^${lines.join('')}$`);
}
