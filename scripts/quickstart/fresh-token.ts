/** Keeps a valid token of a task in a file, for use with curl. */

import { renameSync, writeFileSync } from 'node:fs';
import { NotNow, type Task } from '@mandate/agent';

/** Much shorter than the lifetime that a token still has when it is renewed. */
const EVERY_MS = 500;

/**
 * Resolves once the file exists. The last token stays in it.
 *
 * @param ended is called once, when no further token can be had: with a `TaskOver`, or another error
 * @returns a function that stops the renewals, without a call of `ended`
 */
export async function keepTokenFresh(task: Task, file: string, ended: (error: unknown) => void): Promise<() => void> {
  const put = async (): Promise<void> => {
    const token = await task.token();
    if (isStopped) return;
    // The file is replaced atomically, so no reader sees half a token.
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
