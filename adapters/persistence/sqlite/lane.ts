/**
 * Work that waits for the connection. What has gathered in one turn of the event loop is done in one batch; between
 * batches other events have their turn.
 */

import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';

export interface Waiting<Context> {
  /** Does the work; what it returns is called to answer, once the work is sure to stay. */
  readonly work: (context: Context) => () => void;
  readonly fail: (error: unknown) => void;
}

export interface Lane<Context> {
  submit<Answer>(work: (context: Context) => Answer): Promise<Answer>;
  /** Resolves when nothing waits any more. */
  drained(): Promise<void>;
}

/**
 * How many have to have come together the last time for the next batch to be worth waiting for: a lone request is
 * never kept waiting.
 */
const COMPANY = 4;

/**
 * @param gather milliseconds to wait for a fuller batch while there is company; 0 for work that gains nothing by it
 * @param perform does a batch and settles each of its members; never throws
 */
export function lane<Context>(
  size: number,
  gather: number,
  perform: (batch: readonly Waiting<Context>[]) => Promise<void>,
): Lane<Context> {
  const waiting: Waiting<Context>[] = [];
  let working: Promise<void> | undefined;
  let lastSize = 0;

  async function workOff(): Promise<void> {
    while (waiting.length > 0) {
      await nextTurn();
      if (gather > 0 && lastSize >= COMPANY && waiting.length < size) await pause(gather);
      const batch = waiting.splice(0, size);
      lastSize = batch.length;
      await perform(batch);
    }
    working = undefined;
  }

  return {
    submit: (work) =>
      new Promise((resolve, reject) => {
        const settle = (context: Context) => {
          const answer = work(context);
          return () => resolve(answer);
        };
        waiting.push({ work: settle, fail: reject });
        working ??= workOff();
      }),
    drained: async () => working,
  };
}
