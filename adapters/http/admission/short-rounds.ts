/**
 * Short rounds of the event loop while connections come. Node accepts one connection in a round (libuv since 1.45), and
 * under load a round is as long as what all requests under way do in it: a busy service would accept no more connections
 * than it can serve, and leave the others waiting where no limit of ours is kept and nobody is told to come back. So as
 * long as there are connections to accept little is begun in a round, and the longer that lasts the less; afterwards all
 * of it at once: requests that go together share commits, and messages between threads.
 */

/**
 * Counted from the first request of a new connection. Where there is another in line, that one is accepted in the same
 * round or the next, and what it has sent is read in the one after.
 */
const LASTS_ROUNDS = 3;

/** One piece of work is begun in each round at first, then in every second, at last in every so many. */
const MOST_ROUNDS_EACH = 4;
const SLOWER_AFTER_ROUNDS = 32;

export interface ShortRounds<Kind> {
  /** A request came on this connection. */
  sees(connection: object): void;
  /**
   * Begins now, or in one of the next rounds: of several kinds of work in turn, so that none waits behind another.
   *
   * @returns takes it out again, where it has not begun
   */
  begin(kind: Kind, work: () => void): () => void;
}

export function shortRounds<Kind>(): ShortRounds<Kind> {
  const known = new WeakSet<object>();
  /** By kind; the one that was served last is at the end. */
  const waiting = new Map<Kind, Set<() => void>>();
  let areShort = false;
  let [left, passed] = [0, 0];

  const beginOne = (): void => {
    for (const [kind, line] of waiting) {
      const [first] = line;
      if (first === undefined) continue;
      line.delete(first);
      waiting.delete(kind);
      waiting.set(kind, line);
      first();
      return;
    }
  };
  const round = (): void => {
    left -= 1;
    passed += 1;
    if (left > 0) {
      setImmediate(round);
      const roundsEach = Math.min(MOST_ROUNDS_EACH, 1 + Math.floor(passed / SLOWER_AFTER_ROUNDS));
      if (passed % roundsEach === 0) beginOne();
    } else {
      areShort = false;
      const rest = [...waiting.values()].flatMap((line) => [...line]);
      waiting.clear();
      for (const work of rest) work();
    }
  };

  return {
    sees(connection) {
      if (known.has(connection)) return;
      known.add(connection);
      left = LASTS_ROUNDS;
      if (areShort) return;
      areShort = true;
      passed = 0;
      setImmediate(round);
    },
    begin(kind, work) {
      if (!areShort) {
        work();
        return () => undefined;
      }
      const line = waiting.get(kind) ?? new Set();
      waiting.set(kind, line);
      line.add(work);
      return () => void line.delete(work);
    },
  };
}
