/** Keeps a valid token of a task in a file, for use with curl. */

import { renameSync, writeFileSync } from 'node:fs';
import { NotNow, type Task } from '@mandate/agent';

/** A fraction of a token's remaining lifetime at its renewal. */
const EVERY_MS = 500;

/**
 * Resolves when the file exists; the last token stays in it.
 *
 * @param ended called once, when there are no further tokens: with a `TaskOver`, or another error @returns stops the
 * renewals without a call of `ended`
 */
export async function keepTokenFresh(task: Task, file: string, ended: (error: unknown) => void): Promise<() => void> {
  const put = async (): Promise<void> => {
    const token = await task.token();
    if (isStopped) return;
    // Atomic replacement: no reader sees half a token.
    writeFileSync(`${file}.new`, token, { mode: 0o600 });
    renameSync(`${file}.new`, file);
  };
  let isStopped = false;
  await put();
  const timer = setInterval(() => {
    put().catch((error: unknown) => {
      if (isStopped || error instanceof NotNow) return;
      stop();
      ended(error);
    });
  }, EVERY_MS);
  const stop = (): void => {
    isStopped = true;
    clearInterval(timer);
  };
  return stop;
}
