/**
 * Short rounds of the event loop while connections come. Node accepts one connection in a round (libuv since 1.45), and
 * requests that begin together stay together, through every step, so that under load each round takes as long as that
 * step of all of them. A busy service would then accept some fifty connections a second and leave the others waiting
 * where no limit of ours is kept and nobody is told to come back. Begun a few in each round, requests spread out, and
 * rounds are short; which has its price, so it is done only as long as there are connections to accept.
 */

/** One is too few: rounds that have other things to do as well would begin less than the service can serve. */
const BEGUN_IN_A_ROUND = 4;

/** From the first request of a new connection on: where there is another in line, its own will have come by then. */
const LASTS_MS = 100;

export interface ShortRounds {
  /** A request came on this connection. */
  sees(connection: object): void;
  /** Begins now, or in one of the next rounds. */
  begin(work: () => void): void;
}

export function shortRounds(now: () => number = () => performance.now()): ShortRounds {
  const known = new WeakSet<object>();
  const waiting: (() => void)[] = [];
  let until = Number.NEGATIVE_INFINITY;
  const beginSome = (): void => {
    const some = waiting.splice(0, BEGUN_IN_A_ROUND);
    if (waiting.length > 0) setImmediate(beginSome);
    for (const work of some) work();
  };
  return {
    sees(connection) {
      if (known.has(connection)) return;
      known.add(connection);
      until = now() + LASTS_MS;
    },
    begin(work) {
      if (waiting.length === 0 && now() >= until) {
        work();
        return;
      }
      waiting.push(work);
      if (waiting.length === 1) setImmediate(beginSome);
    },
  };
}
