/** SIGTERM and SIGINT ask for an orderly stop; a second one ends the process at once (decisions "How it runs"). */

export const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** What a shell expects of a process that a signal ended: 128 and the signal's number. */
const ENDED_BY = { SIGTERM: 143, SIGINT: 130 } as const;

export function untilToldToStop(): Promise<void> {
  return new Promise((resolve) => {
    const stop = () => {
      for (const signal of STOP_SIGNALS) {
        process.off(signal, stop);
        process.once(signal, () => process.exit(ENDED_BY[signal]));
      }
      resolve();
    };
    for (const signal of STOP_SIGNALS) process.once(signal, stop);
  });
}
