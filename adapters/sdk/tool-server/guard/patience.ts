/**
 * Limits how long a request waits for one side, until the head of the answer. The upstream must take the body and answer in
 * time. The client must send its body in time. The time of one side does not count for the other.
 */

export interface Patience {
  /** From now on the request waits for this side. */
  waitFor(side: keyof Sides): void;
  /** Nothing is limited from now on. */
  end(): void;
}

interface Sides {
  readonly upstream: Limit;
  readonly client: Limit;
}

interface Limit {
  readonly ms: number;
  late(): void;
}

export function patience(sides: Sides): Patience {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  return {
    waitFor(side) {
      clearTimeout(timer);
      const { ms, late } = sides[side];
      if (!isOver) timer = setTimeout(late, ms);
    },
    end() {
      isOver = true;
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
