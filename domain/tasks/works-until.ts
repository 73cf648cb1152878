/** How long tokens of tasks still work at tool servers that ask nobody, after the tasks have ended. */

import { type Instant, plusSeconds } from '../instant.ts';

export interface EndingTasks {
  /** When the last of the tasks ends by itself. */
  readonly lastExpiry: Instant | undefined;
  /** The longest life of their tokens, in seconds. */
  readonly longestTokenTtl: number | undefined;
}

/** No token issued until now works later. `undefined` without tasks. */
export function worksUntil({ lastExpiry, longestTokenTtl }: EndingTasks, now: Instant): Instant | undefined {
  if (lastExpiry === undefined) return undefined;
  if (longestTokenTtl === undefined) return lastExpiry;
  const lastToken = plusSeconds(now, longestTokenTtl);
  return lastToken < lastExpiry ? lastToken : lastExpiry;
}
