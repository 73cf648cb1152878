/** Waiting: for the event loop, for a random time, or for at most some time. */

import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { RetryPause, TimeLimit, Turn } from '../../application/ports/runtime.ts';

/** Resolves after one turn of the event loop. Requests that arrived by then are read first. */
export const eventLoopTurn: Turn = () => new Promise((resolve) => setImmediate(resolve));

export const retryPause: RetryPause = (longestMs) => wait(randomInt(longestMs + 1));

export const timeLimit: TimeLimit = async (work, ms) => {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
};
