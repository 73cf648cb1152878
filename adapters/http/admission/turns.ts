/**
 * Turns for one kind of work (specification "Overload"): so many at once, so many waiting for one, none for longer than
 * a time. First come, first served: the line is so short that whoever is in it is served soon, and once it is full it is
 * the newcomer who is told to come back, who has not waited yet. Pure but for the time it is given.
 */

export interface TurnLimits {
  /** Turns at once. */
  readonly concurrency: number;
  /** How many wait at most. */
  readonly queue: number;
  /** Milliseconds for which one waits at most. */
  readonly waitMs: number;
}

export interface Turn {
  /** Hands it on. A turn is released once, however often it is asked for. */
  release(): void;
}

export interface Place {
  /** Gives it up; nothing is said to whoever had it any more. */
  leave(): void;
}

export interface Turns {
  /**
   * Asks for a turn.
   *
   * @param settle is told once, with `undefined` where there is none: at once, unless a place in the line is answered
   */
  ask(settle: (turn: Turn | undefined) => void): Place | undefined;
  /** Tells those who have waited for too long, and answers after how many milliseconds the next will have. */
  expire(): number | undefined;
  /** Whether whoever asks now is refused. */
  readonly isFull: boolean;
  readonly busy: number;
  readonly waiting: number;
}

interface Waiter {
  readonly since: number;
  readonly settle: (turn: Turn | undefined) => void;
  previous: Waiter | undefined;
  next: Waiter | undefined;
  isInLine: boolean;
}

/** @param now milliseconds that never run backwards */
export function turns({ concurrency, queue, waitMs }: TurnLimits, now: () => number): Turns {
  let busy = 0;
  let waiting = 0;
  let [first, last]: [Waiter | undefined, Waiter | undefined] = [undefined, undefined];

  const take = (): Turn => {
    busy += 1;
    let isReleased = false;
    return {
      release() {
        if (isReleased) return;
        isReleased = true;
        busy -= 1;
        callNext();
      },
    };
  };

  const remove = (waiter: Waiter): void => {
    waiter.isInLine = false;
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

  const callNext = (): void => {
    // A turn that comes too late is nobody's, even where the timer is late as well.
    expire();
    while (first !== undefined && busy < concurrency) {
      const called = first;
      remove(called);
      called.settle(take());
    }
  };

  return {
    ask(settle) {
      if (busy < concurrency) {
        settle(take());
        return undefined;
      }
      if (waiting >= queue) {
        settle(undefined);
        return undefined;
      }
      const waiter: Waiter = { since: now(), settle, previous: last, next: undefined, isInLine: true };
      if (last === undefined) first = waiter;
      else last.next = waiter;
      last = waiter;
      waiting += 1;
      return {
        leave() {
          if (waiter.isInLine) remove(waiter);
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
