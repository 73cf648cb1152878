/** Checks whether clients were served. A fault explains only some missing responses. */

import { isUnanswered, type Operation } from '../operations.ts';

/** The maximum share of 503 among the requests that reached a process. */
const UNSERVED_SHARE = 0.01;
/** How long a client may take to notice that its connection is closed. */
const NOTICED_WITHIN_MS = 1_000;
/** The minimum share of the requested rate. */
const LEAST_OF_RATE = 0.9;

interface Served {
  readonly figure: string;
  readonly losses: readonly string[];
}

/** Checks the share of requests that were answered 503. */
export function unserved(operations: readonly Operation[]): Served {
  const received = operations.filter(({ connectionRefused }) => connectionRefused !== true);
  const share = received.filter(({ status }) => status === 503).length / received.length;
  const percent = `${(share * 100).toFixed(2)} %`;
  return {
    figure: `of the requests that reached a replica, ${percent} were answered 503`,
    losses: share > UNSERVED_SHARE ? [`${percent} were answered 503 while the database had no fault`] : [],
  };
}

/** @param kills by `wallClock`. A kill explains missing responses to requests that were under way at that time */
export function unanswered(operations: readonly Operation[], kills: readonly number[] = []): readonly string[] {
  return operations
    .filter(isUnanswered)
    .filter(({ began, ended }) => !kills.some((at) => began - NOTICED_WITHIN_MS <= at && at <= ended))
    .map(({ kind, error }) => `"${kind}" was not answered, and no process was killed: ${error}`);
}

/** @param ends the exit code or signal of each process that the run killed */
export function crashes(ends: readonly (number | string)[]): readonly string[] {
  return ends.filter((end) => end !== 'SIGKILL').map((end) => `a process ended by itself, with ${end}`);
}

/** Checks whether the load reached its rate: with less load a run may miss a fault. */
export function atRate(operations: readonly Operation[], perSecond: number): Served {
  const began = operations.map((one) => one.began).sort((one, other) => one - other);
  const seconds = ((began.at(-1) ?? 0) - (began[0] ?? 0)) / 1000;
  const rate = seconds > 0 ? operations.length / seconds : 0;
  const isTooLow = rate < perSecond * LEAST_OF_RATE;
  return {
    figure: `${Math.round(rate)} requests a second were sent`,
    losses: isTooLow ? [`only ${Math.round(rate)} of ${perSecond} requests a second were sent`] : [],
  };
}
