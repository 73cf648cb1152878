/**
 * Logs events that a client can cause at any rate: at most one line a second for each kind, with a count. A line per event
 * would cost more than the refusal that it reports, and would fill a disk.
 */

const LINE_EVERY_MS = 1000;
export const MINUTE_MS = 60_000;

/**
 * @returns a function that says whether another line may be logged: at most `most` in a minute, which begins with the
 *   first one
 */
export function linesPerMinute(most: number): () => boolean {
  let left = most;
  return () => {
    if (left === 0) return false;
    if (left === most) setTimeout(() => (left = most), MINUTE_MS).unref();
    left -= 1;
    return true;
  };
}

/** A part of the log of `application/ports`. */
export interface CountingLog {
  warn(message: string, fields: Readonly<Record<string, string | number>>): void;
}

/** @returns a function that counts an event. The values of its kind are fixed words, so the number of kinds is bounded */
export function throttledLog<Kind extends Readonly<Record<string, string>>>(
  log: CountingLog,
  message: string,
  everyMs = LINE_EVERY_MS,
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
    // The timer does not keep the process alive, so events before its end may go unlogged.
    if (counts.size === 0) setTimeout(write, everyMs).unref();
    counts.set(key, { kind, count: 1 });
  };
}
