/** A task's token in a file, always a fresh one, for whoever wants to use it with curl. */

import { renameSync, writeFileSync } from 'node:fs';
import { NotNow, type Task } from 'mandate/agent';

/** A fraction of what a token has left when it is renewed. */
const EVERY_MS = 500;

/**
 * Resolves once the file is there; the last token stays in it.
 *
 * @param ended called once, when there will be no further token: with a `TaskOver`, or what else went wrong
 * @returns ends it quietly
 */
export async function keepTokenFresh(task: Task, file: string, ended: (error: unknown) => void): Promise<() => void> {
  const put = async (): Promise<void> => {
    const token = await task.token();
    if (isStopped) return;
    // Nobody reads half a token.
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
