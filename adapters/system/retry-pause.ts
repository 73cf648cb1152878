import { randomInt } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { RetryPause } from '../../application/ports/runtime.ts';

export const retryPause: RetryPause = (longestMs) => wait(randomInt(longestMs + 1));
