/** Stops the service (SIGTERM) at a fixed rate of requests, half of them over new connections, and starts it again. */

import { setTimeout as pause } from 'node:timers/promises';
import { isUnanswered, type Operation, wallClock } from '../operations.ts';
import { type RunResult, type TestbedOptions, withTestbed } from '../testbed.ts';
import { atRate, unserved } from './served.ts';

interface StopOptions extends TestbedOptions {
  readonly perSecond: number;
  readonly times: number;
  /** The time between a start and the next stop, in milliseconds. */
  readonly servesMs: number;
}

interface StopResult extends RunResult {
  /** How far the load was below its rate. That is due to the machine, not to the service. */
  readonly unsent: readonly string[];
}

/** The share of the requests that must be answered before a stop. A stop without load would show nothing. */
const LEAST_OF_ANSWERS = 0.5;
/** The maximum wait until this many requests are answered, as a multiple of `servesMs`. */
const LONGEST_WAIT = 10;
const POLL_MS = 50;

export function stopUnderLoad({ perSecond, times, servesMs, ...options }: StopOptions): Promise<StopResult> {
  const rate = { perSecond, newConnections: true };
  return withTestbed({ ...options, rate }, async ({ start, finish, driver, services: [service] }) => {
    const codes: (number | string)[] = [];
    const durations: number[] = [];
    const stops: number[] = [];
    await start();
    for (let nth = 0; nth < times; nth++) {
      const least = (await driver.count()) + (perSecond * servesMs * LEAST_OF_ANSWERS) / 1000;
      await pause(servesMs);
      // After this limit the run continues, and its comparisons report what is lost.
      const limit = performance.now() + servesMs * LONGEST_WAIT;
      while ((await driver.count()) < least && performance.now() < limit) await pause(POLL_MS);
      const stopped = wallClock();
      stops.push(stopped);
      codes.push(await service.end('SIGTERM'));
      durations.push(wallClock() - stopped);
      service.start();
      await service.untilReady();
    }
    const result = await finish();
    const { operations } = result;
    const lost = operations.filter(isUnanswered);
    const isDuring = (at: number) => stops.some((began, nth) => began <= at && at <= began + (durations[nth] ?? 0));
    const sent = atRate(operations, perSecond);
    return {
      ...result,
      losses: [
        ...result.losses,
        ...lost.map((one) => `${describe(one, stops)}, and was not answered: ${one.error}`),
        ...codes.filter((code) => code !== 0).map((code) => `a stop ended with ${code}`),
        // A stop refuses the requests that arrive late.
        ...unserved(operations.filter(({ status, ended }) => status !== 503 || !isDuring(ended))).losses,
      ],
      figures: [
        sent.figure,
        `accepted and not answered ${lost.length}; exit codes ${[...new Set(codes)].join(', ')}; ` +
          `a stop took at most ${Math.round(Math.max(...durations))} ms`,
      ],
      unsent: sent.losses,
    };
  });
}

function describe({ kind, began, newConnection }: Operation, stops: readonly number[]): string {
  const last = stops.findLast((at) => at <= began);
  const when = last === undefined ? 'before any stop' : `${Math.round(began - last)} ms after SIGTERM`;
  return `"${kind}" was sent over a ${newConnection ? 'new' : 'kept-alive'} connection ${when}`;
}
