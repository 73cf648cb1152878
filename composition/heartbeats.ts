/**
 * How a primary tells a worker that hangs from one that is only busy: each says every second that it still turns, and
 * nothing that is sent to a worker can hold that up. One that hangs would be given its share of the connections for good.
 */

import type { Worker } from 'node:cluster';

const BEAT = 'beat';
const BEAT_MS = 1000;
/** No work of ours keeps a worker from turning for as many seconds; a machine that starves it so serves nobody. */
const MISSED_BEATS = 10;

/** In a worker that serves. */
export function beat(): void {
  const say = (): void => {
    if (process.connected) process.send?.(BEAT, undefined, undefined, () => undefined);
  };
  setInterval(say, BEAT_MS).unref();
}

export interface Heartbeats {
  /** From now on it is missed. */
  follow(worker: Worker): void;
  forget(worker: Worker): void;
  close(): void;
}

/**
 * In the primary.
 *
 * @param isSilent is told once of each that has said nothing for ten seconds, in which this process did turn: one that
 *   slept, as the whole machine may, has missed nothing
 */
export function heartbeats(isSilent: (worker: Worker) => void): Heartbeats {
  const missed = new Map<Worker, number>();
  const count = setInterval(() => {
    for (const [worker, beats] of missed) {
      missed.set(worker, beats + 1);
      if (beats < MISSED_BEATS) continue;
      missed.delete(worker);
      isSilent(worker);
    }
  }, BEAT_MS);
  count.unref();
  return {
    follow(worker) {
      missed.set(worker, 0);
      worker.on('message', (message) => {
        if (message === BEAT && missed.has(worker)) missed.set(worker, 0);
      });
    },
    forget: (worker) => void missed.delete(worker),
    close: () => clearInterval(count),
  };
}
