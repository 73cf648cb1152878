/**
 * Ends connections whose clients do not take what is ready for them. Node has time limits for what comes in and none for
 * what goes out; and until it is out, an answer is under way and holds its turn.
 */

import type { Duplex } from 'node:stream';

/** Looks at them every so often, until it is told to stop. */
export function endSlowTakers(
  connections: () => Iterable<Duplex>,
  { takingMs, lookingMs }: { readonly takingMs: number; readonly lookingMs: number },
): () => void {
  /** Since when something has been waiting on a connection. Those of nothing but slow clients are in here. */
  let waiting = new Map<Duplex, number>();
  const look = (): void => {
    const now = performance.now();
    const stillWaiting = new Map<Duplex, number>();
    for (const connection of connections()) {
      if (connection.writableLength === 0) continue;
      const since = waiting.get(connection) ?? now;
      // By the time and not by what was taken meanwhile: a byte now and then would hold on to it for hours.
      if (now - since >= takingMs) connection.destroy();
      else stillWaiting.set(connection, since);
    }
    waiting = stillWaiting;
  };
  const timer = setInterval(look, lookingMs);
  timer.unref();
  return () => clearInterval(timer);
}
