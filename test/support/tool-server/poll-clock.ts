/** A clock for the pollers of a tool server. Only a test moves it, and `advance` waits for the polls that become due. */

import type { PollClock } from '../../../adapters/sdk/tool-server/core/status-lists.ts';

export interface MovedPollClock extends PollClock {
  /** Milliseconds since 1970: the machine's time, which a test can set. */
  now(): number;
  set(now: number): void;
  /** Moves both clocks, and runs every poll that is due until then. */
  advance(ms: number): Promise<void>;
  /** Moves both clocks while a poll is under way. */
  pass(ms: number): void;
  /** The number of polls that are due later. */
  pending(): number;
}

export function movedPollClock(start: number): MovedPollClock {
  let passed = 0;
  let ahead = start;
  const timers: { readonly at: number; readonly work: () => unknown }[] = [];
  return {
    monotonic: () => passed,
    now: () => passed + ahead,
    after: (ms, work) => void timers.push({ at: passed + ms, work }),
    set(now) {
      ahead = now - passed;
    },
    async advance(ms) {
      const end = passed + ms;
      for (;;) {
        timers.sort((one, other) => one.at - other.at);
        const [next] = timers;
        if (next === undefined || next.at > end) break;
        timers.shift();
        passed = Math.max(passed, next.at);
        await next.work();
      }
      passed = Math.max(passed, end);
    },
    pass(ms) {
      passed += ms;
    },
    pending: () => timers.length,
  };
}
