/**
 * Work that waits for the connection. What has come by the end of a turn of the event loop, and so all that came while
 * the batch before was being done, is done in one batch; between batches other events have their turn.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';

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

/** @param perform does a batch and settles each of its members; never throws */
export function lane<Context>(
  size: number,
  perform: (batch: readonly Waiting<Context>[]) => Promise<void>,
): Lane<Context> {
  const waiting: Waiting<Context>[] = [];
  let working: Promise<void> | undefined;

  async function workOff(): Promise<void> {
    while (waiting.length > 0) {
      await nextTurn();
      await perform(waiting.splice(0, size));
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
