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
  /**
   * Gives the permit back until the returned function is called. That call takes it again at once, without waiting. So more
   * permits than `concurrency` may be in use, by as many as are paused: the caller must bound these.
   */
  pause(): () => void;
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

interface Waiter {
  readonly since: number;
  readonly settle: (permit: Permit | undefined) => void;
  previous: Waiter | undefined;
  next: Waiter | undefined;
  isQueued: boolean;
}

/** A doubly linked list, so that leaving the queue takes constant time. */
interface Queue {
  first: Waiter | undefined;
  last: Waiter | undefined;
  length: number;
}

/** @param now milliseconds of a clock that never runs backwards */
export function concurrencyLimiter(limits: ConcurrencyLimits, now: () => number): ConcurrencyLimiter {
  const queue: Queue = { first: undefined, last: undefined, length: 0 };
  let busy = 0;

  const grant = (): Permit => {
    take();
    return permit(giveBack, take);
  };

  const take = (): void => {
    busy += 1;
  };

  const giveBack = (): void => {
    busy -= 1;
    grantNext();
  };

  const expire = (): number | undefined => {
    const latest = now() - limits.waitMs;
    while (queue.first !== undefined && queue.first.since <= latest) {
      const late = queue.first;
      remove(queue, late);
      late.settle(undefined);
    }
    return queue.first === undefined ? undefined : queue.first.since - latest;
  };

  const grantNext = (): void => {
    // The timer that calls `expire` may be late. An entry that has waited for `waitMs` must not get a permit.
    expire();
    while (queue.first !== undefined && busy < limits.concurrency) {
      const called = queue.first;
      remove(queue, called);
      called.settle(grant());
    }
  };

  return {
    acquire(settle) {
      if (busy < limits.concurrency) {
        settle(grant());
        return undefined;
      }
      if (queue.length >= limits.queue) {
        settle(undefined);
        return undefined;
      }
      return append(queue, now(), settle);
    },
    expire,
    get isFull() {
      return busy >= limits.concurrency && queue.length >= limits.queue;
    },
    get busy() {
      return busy;
    },
    get waiting() {
      return queue.length;
    },
  };
}

function permit(giveBack: () => void, takeAgain: () => void): Permit {
  let isReleased = false;
  let isPaused = false;
  return {
    release() {
      if (isReleased) return;
      isReleased = true;
      if (!isPaused) giveBack();
    },
    pause() {
      if (isReleased || isPaused) return () => undefined;
      isPaused = true;
      giveBack();
      return () => {
        if (!isPaused) return;
        isPaused = false;
        if (!isReleased) takeAgain();
      };
    },
  };
}

function append(queue: Queue, since: number, settle: Waiter['settle']): QueueEntry {
  const waiter: Waiter = { since, settle, previous: queue.last, next: undefined, isQueued: true };
  if (queue.last === undefined) queue.first = waiter;
  else queue.last.next = waiter;
  queue.last = waiter;
  queue.length += 1;
  return {
    leave() {
      remove(queue, waiter);
    },
  };
}

/** Does nothing if the waiter has left the queue. */
function remove(queue: Queue, waiter: Waiter): void {
  if (!waiter.isQueued) return;
  waiter.isQueued = false;
  queue.length -= 1;
  if (waiter.previous === undefined) queue.first = waiter.next;
  else waiter.previous.next = waiter.next;
  if (waiter.next === undefined) queue.last = waiter.previous;
  else waiter.next.previous = waiter.previous;
}
