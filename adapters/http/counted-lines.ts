/**
 * The log of what may happen any number of times a second, and is somebody else's doing: how many there were, once a
 * second for each kind. A line for each would cost more than the refusal, at the very time when there are the most.
 */

import type { Log } from '../../application/ports/log.ts';

const LINE_EVERY_MS = 1000;

/** @returns counts one more of that kind; kinds are made of fixed words, so that there are only so many */
export function countedLines<Kind extends Readonly<Record<string, string>>>(
  log: Log,
  message: string,
): (kind: Kind) => void {
  const counts = new Map<string, { readonly kind: Kind; count: number }>();
  const write = (): void => {
    for (const { kind, count } of counts.values()) log.warn(message, { ...kind, count });
    counts.clear();
  };
  return (kind) => {
    const key = Object.values(kind).join(' ');
    const counted = counts.get(key);
    if (counted !== undefined) {
      counted.count += 1;
      return;
    }
    // The last second of a process that ends is not told of.
    if (counts.size === 0) setTimeout(write, LINE_EVERY_MS).unref();
    counts.set(key, { kind, count: 1 });
  };
}
