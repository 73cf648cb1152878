/** Work that is done again and again for as long as the service runs: one pass at a time, each some time after the last. */

import type { Log } from '../application/ports/log.ts';

export interface RecurringPass {
  /** As it stands in the log: what is done, beginning in lower case. */
  readonly name: string;
  /** From the end of one pass to the beginning of the next. */
  readonly intervalMs: number;
  /** Until the first one; an interval where it is not said. */
  readonly firstAfterMs?: number;
  /** From the end of one that failed to the next, where that is less than an interval; a minute where it is not said. */
  readonly retryMs?: number;
  /** @param mayGoOn says no once a stop was asked for: a pass of many steps then ends between two of them */
  run(mayGoOn: () => boolean): Promise<void>;
}

/** Each safe at any time, on any number of instances at once, and beside itself. */
export interface Passes {
  /** Seals every record that is not sealed yet. */
  seal(): Promise<void>;
  /** Sends the records that are due to the sink; nothing without one. */
  drain(mayGoOn?: () => boolean): Promise<void>;
  /** Writes the summaries of windows that have ended. */
  closeWindows(): Promise<void>;
  /** Records the expiry of tasks, and deletes what need not be kept any longer. */
  sweep(mayGoOn?: () => boolean): Promise<void>;
  /** Says to the ledger whether there is a sink to queue records for. */
  setQueueing(): Promise<void>;
}

export interface Recurring {
  /** No pass begins any more; resolves once the one under way, if any, has ended. */
  stop(): Promise<void>;
}

/** A pass that is due once an hour is not left undone for an hour because the database was away for a second. */
const RETRY_MS = 60_000;

/** A pass that throws is logged, once until one succeeds again, and tried again soon. */
export function startRecurring(pass: RecurringPass, log: Log): Recurring {
  const retryMs = Math.min(pass.retryMs ?? RETRY_MS, pass.intervalMs);
  let stopped = false;
  let failing = false;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();

  const runOnce = async (): Promise<void> => {
    try {
      await pass.run(() => !stopped);
      if (failing) log.info('a recurring pass succeeded again', { pass: pass.name });
      failing = false;
    } catch (error) {
      if (!failing) log.error('a recurring pass failed, and is tried again', error, { pass: pass.name });
      failing = true;
    }
  };

  const schedule = (afterMs: number): void => {
    timer = setTimeout(() => {
      underWay = runOnce().then(() => {
        if (!stopped) schedule(failing ? retryMs : pass.intervalMs);
      });
    }, afterMs);
    // It must not keep a process alive that has nothing else to do.
    timer.unref();
  };

  schedule(pass.firstAfterMs ?? pass.intervalMs);
  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      return underWay;
    },
  };
}
