/**
 * Checks the pages of a large file while the service runs, in a process. The check is one call into SQLite, which nothing
 * interrupts: in a thread it would delay the end of the service for as long as it takes. A process can be killed.
 */

import { fork } from 'node:child_process';
import { deserializeError, type SerializedError } from './errors.ts';

/** The message of the process. */
export interface PageReport {
  readonly fault: SerializedError | undefined;
}

interface LargeFileCheck {
  /** Resolves with what the check found, or why it failed; with `undefined` if all is well, or after `stop`. */
  readonly fault: Promise<Error | undefined>;
  /** Ends the process. */
  stop(): void;
}

/** @param program the entry of the process, `check-pages.ts` */
export function checkLargeFile(program: URL, path: string): LargeFileCheck {
  const child = fork(program, [path]);
  let report: PageReport | undefined;
  let isStopped = false;
  const fault = new Promise<Error | undefined>((resolve) => {
    child.once('message', (message: PageReport) => {
      report = message;
    });
    child.once('error', resolve);
    child.once('exit', (code, signal) => {
      if (isStopped) resolve(undefined);
      else if (report === undefined) resolve(new Error(`the process that checks pages ended: ${signal ?? code}`));
      else resolve(report.fault && deserializeError(report.fault));
    });
  });
  return {
    fault,
    stop() {
      isStopped = true;
      child.kill('SIGKILL');
    },
  };
}
