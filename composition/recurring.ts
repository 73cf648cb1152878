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
  /** Begins after each run, also after a failed one, unless it still runs. The next run does not wait for it. */
  readonly follower?: Follower | undefined;
  /** @param shouldContinue returns false after a stop was requested: a run of many steps then ends between two steps */
  run(shouldContinue: () => boolean): Promise<void>;
}

type Follower = Pick<RecurringPass, 'name' | 'run' | 'follower'>;

/** Each job is safe at any time, on any number of instances, and concurrently with itself. */
export interface Jobs {
  /** Seals all unsealed records. */
  seal(): Promise<void>;
  /** Adds all checkpoints to the transparency log; does nothing without it. */
  growLog(shouldContinue?: () => boolean): Promise<void>;
  /** Gets the newest tree of the log cosigned; does nothing without witnesses. */
  askWitnesses(): Promise<void>;
  /** Sends due records to the sink; does nothing without a sink. */
  drain(shouldContinue?: () => boolean): Promise<void>;
  /** Sends the notices of approvals that are due; does nothing without a receiver. */
  notify(shouldContinue?: () => boolean): Promise<void>;
  /** Writes the summaries of ended windows. */
  closeWindows(): Promise<void>;
  /** Records expired tasks and approvals, and deletes data past its retention. */
  sweep(shouldContinue?: () => boolean): Promise<void>;
  /** Compares this instance's clock with the database's and the monotonic one. */
  watchClocks(): Promise<void>;
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
  const runOnce = reportedRun(pass, log, () => !stopped);
  const follower = following(pass.follower, log, () => !stopped);

  const schedule = (afterMs: number): void => {
    timer = setTimeout(() => {
      underWay = runOnce().then((succeeded) => {
        follower?.begin();
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
      await follower?.ended();
    },
  };
}

/** @param isWanted returns false after a stop was requested */
function following(pass: Follower | undefined, log: Log, isWanted: () => boolean) {
  if (pass === undefined) return undefined;
  let underWay: Promise<void> | undefined;
  const runOnce = reportedRun(pass, log, isWanted);
  const next = following(pass.follower, log, isWanted);
  return {
    begin(): void {
      if (!isWanted()) return;
      underWay ??= runOnce().then(() => {
        underWay = undefined;
        next?.begin();
      });
    },
    async ended(): Promise<void> {
      await underWay;
      await next?.ended();
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
