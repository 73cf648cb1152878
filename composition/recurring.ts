/**
 * Recurring jobs of a running service. Runs of a job do not overlap; each starts an interval after the end of the
 * previous run.
 */

import type { Log } from '../application/ports/telemetry.ts';

export interface RecurringPass {
  /** The name in the log, beginning in lower case. */
  readonly name: string;
  /** The time from the end of one run to the start of the next. */
  readonly intervalMs: number;
  /** The time until the first run; by default an interval. */
  readonly firstAfterMs?: number;
  /** The time from the end of a failed run to the next, if less than an interval; by default a minute. */
  readonly retryMs?: number;
  /**
   * Run one after another after each run, also after a failed one. The next run of this job does not wait for them. They
   * are skipped while they still run.
   */
  readonly followers?: readonly Follower[];
  /** @param shouldContinue returns false after a stop was requested: a run of many steps then ends between two steps */
  run(shouldContinue: () => boolean): Promise<void>;
}

export type Follower = Pick<RecurringPass, 'name' | 'run'>;

/** Each job is safe at any time, on any number of instances, and concurrently with itself. */
export interface Jobs {
  /** Seals all unsealed records. */
  seal(): Promise<void>;
  /** Adds all checkpoints to the transparency log; does nothing without it. */
  growLog(shouldContinue?: () => boolean): Promise<void>;
  /** Sends due records to the sink; does nothing without a sink. */
  drain(shouldContinue?: () => boolean): Promise<void>;
  /** Writes the summaries of ended windows. */
  closeWindows(): Promise<void>;
  /** Records expired tasks, and deletes data past its retention. */
  sweep(shouldContinue?: () => boolean): Promise<void>;
  /** Stores in the database whether records are queued for a sink. */
  setQueueing(): Promise<void>;
  /** @param queueingIsSet whether `setQueueing` succeeded at start */
  recurring(queueingIsSet: boolean): readonly RecurringPass[];
}

export interface Recurring {
  /** Starts no further run. Resolves when the current run, if any, has ended. */
  stop(): Promise<void>;
}

/** A failed hourly run is retried after a minute: the database may have been unavailable for only a second. */
const RETRY_MS = 60_000;

/** A run that throws is retried soon. Only the first of consecutive failures is logged. */
export function startRecurring(pass: RecurringPass, log: Log): Recurring {
  const retryMs = Math.min(pass.retryMs ?? RETRY_MS, pass.intervalMs);
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<unknown> = Promise.resolve();
  let following: Promise<void> | undefined;
  const runOnce = reportedRun(pass, log, () => !stopped);
  const followers = (pass.followers ?? []).map((follower) => reportedRun(follower, log, () => !stopped));

  const follow = async (): Promise<void> => {
    for (const run of followers) if (!stopped) await run();
    following = undefined;
  };

  const schedule = (afterMs: number): void => {
    timer = setTimeout(() => {
      underWay = runOnce().then((succeeded) => {
        following ??= follow();
        if (!stopped) schedule(succeeded ? pass.intervalMs : retryMs);
      });
    }, afterMs);
    // The timer must not keep the process alive.
    timer.unref();
  };

  schedule(pass.firstAfterMs ?? pass.intervalMs);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await underWay;
      await following;
    },
  };
}

/** Runs a pass, and returns whether it succeeded. Logs the first of consecutive failures, and the success after them. */
function reportedRun(pass: Follower, log: Log, shouldContinue: () => boolean): () => Promise<boolean> {
  let failing = false;
  return async () => {
    try {
      await pass.run(shouldContinue);
      if (failing) log.info('a recurring pass succeeded again', { pass: pass.name });
      failing = false;
    } catch (error) {
      if (!failing) log.error('a recurring pass failed, and is tried again', error, { pass: pass.name });
      failing = true;
    }
    return !failing;
  };
}
