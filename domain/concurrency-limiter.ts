/**
 * Bounded concurrency with a bounded queue (specification "Overload"): at most `concurrency` permits at once, at most
 * `queue` entries waiting, none for longer than `waitMs`. First come, first served. A full queue refuses the newest
 * entry, which has not waited yet. The limiter sets no timer: its user must call `expire`.
 */

export interface ConcurrencyLimits {
  /** The most permits in use at once. */
  readonly concurrency: number;
  /** The most entries that wait at once. */
  readonly queue: number;
  /** The longest wait of an entry, in milliseconds. */
  readonly waitMs: number;
}

export interface Permit {
  /** Gives the permit back; a second call does nothing. */
  release(): void;
}

export interface QueueEntry {
  /** Leaves the queue; its `settle` is then never called. */
  leave(): void;
}

export interface ConcurrencyLimiter {
  /**
   * Asks for a permit.
   *
   * @param settle is called once, with `undefined` for a refusal. Without a returned entry it was called already
   */
  acquire(settle: (permit: Permit | undefined) => void): QueueEntry | undefined;
  /** Refuses the entries that have waited for `waitMs`. Returns the milliseconds until the next one must be refused. */
  expire(): number | undefined;
  /** Whether `acquire` would refuse now. */
  readonly isFull: boolean;
  readonly busy: number;
  readonly waiting: number;
}

/** Entries form a doubly linked list, so that leaving the queue takes constant time. */
interface Waiter {
  readonly since: number;
  readonly settle: (permit: Permit | undefined) => void;
  previous: Waiter | undefined;
  next: Waiter | undefined;
  isQueued: boolean;
}

/** @param now milliseconds of a clock that never runs backwards */
export function concurrencyLimiter(
  { concurrency, queue, waitMs }: ConcurrencyLimits,
  now: () => number,
): ConcurrencyLimiter {
  let busy = 0;
  let waiting = 0;
  let [first, last]: [Waiter | undefined, Waiter | undefined] = [undefined, undefined];

  const grant = (): Permit => {
    busy += 1;
    let isReleased = false;
    return {
      release() {
        if (isReleased) return;
        isReleased = true;
        busy -= 1;
        grantNext();
      },
    };
  };

  const remove = (waiter: Waiter): void => {
    waiter.isQueued = false;
    waiting -= 1;
    if (waiter.previous === undefined) first = waiter.next;
    else waiter.previous.next = waiter.next;
    if (waiter.next === undefined) last = waiter.previous;
    else waiter.next.previous = waiter.previous;
  };

  const expire = (): number | undefined => {
    const latest = now() - waitMs;
    while (first !== undefined && first.since <= latest) {
      const late = first;
      remove(late);
      late.settle(undefined);
    }
    return first === undefined ? undefined : first.since - latest;
  };

  const grantNext = (): void => {
    // The timer that calls `expire` may be late. An entry that has waited for `waitMs` must not get a permit.
    expire();
    while (first !== undefined && busy < concurrency) {
      const called = first;
      remove(called);
      called.settle(grant());
    }
  };

  return {
    acquire(settle) {
      if (busy < concurrency) {
        settle(grant());
        return undefined;
      }
      if (waiting >= queue) {
        settle(undefined);
        return undefined;
      }
      const waiter: Waiter = { since: now(), settle, previous: last, next: undefined, isQueued: true };
      if (last === undefined) first = waiter;
      else last.next = waiter;
      last = waiter;
      waiting += 1;
      return {
        leave() {
          if (waiter.isQueued) remove(waiter);
        },
      };
    },
    expire,
    get isFull() {
      return busy >= concurrency && waiting >= queue;
    },
    get busy() {
      return busy;
    },
    get waiting() {
      return waiting;
    },
  };
}
