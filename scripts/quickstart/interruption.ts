/** The signals that end the quickstart. */

/**
 * Resolves at the first signal: Ctrl-C, `kill`, or SIGHUP from a terminal that was closed. Without a handler SIGHUP would
 * end this process alone, and leave Mandate running.
 *
 * @param counted is called at each signal
 */
export function untilInterrupted(counted: () => void = () => undefined): Promise<'interrupted'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        counted();
        resolve('interrupted');
      });
    }
  });
}
