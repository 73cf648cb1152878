/**
 * Refuses calls that have waited too long behind a frozen server. On such a server each call takes seconds to fail, and a
 * waiting call must not wait for several failures in a row. Once a call gets an answer, nothing is refused.
 */

import { StorageUnavailable } from '../../../application/ports/decisions.ts';

export interface Waiting {
  /** When the item began to wait, by `performance.now()`. */
  readonly since: number;
  reject(error: unknown): void;
}

export interface Lateness {
  /** Refuses the items that have waited too long, and returns the others. */
  refuseLate<Item extends Waiting>(items: readonly Item[]): readonly Item[];
  /** Whether the server answered the last call. The caller sets it after each call. */
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
