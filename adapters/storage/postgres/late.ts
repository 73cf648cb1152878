/**
 * On a frozen server a call takes seconds to fail. What waits behind it must not wait for one failure after another, so it
 * is refused once its time is up, until a call is answered again.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';

export interface Waiting {
  /** By `performance.now()`. */
  readonly since: number;
  reject(error: unknown): void;
}

export interface Lateness {
  /** Refuses the items that have waited too long, and returns the others. */
  refuseLate<Item extends Waiting>(items: readonly Item[]): readonly Item[];
  /** Set after each call. */
  isAnswering: boolean;
}

/** @param waitMs the time that an item may wait while the server does not answer */
export function lateness(waitMs: number): Lateness {
  return {
    isAnswering: true,
    refuseLate(items) {
      const before = performance.now() - waitMs;
      const isLate = ({ since }: Waiting) => !this.isAnswering && since < before;
      for (const { reject } of items.filter(isLate)) {
        reject(new StorageUnavailable('Postgres took too long for earlier calls'));
      }
      return items.filter((item) => !isLate(item));
    },
  };
}
