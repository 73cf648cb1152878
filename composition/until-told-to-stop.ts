/** How a server of the command line is stopped. */

/** SIGTERM and SIGINT ask for an orderly stop; a second one ends the process at once (supplement "How it runs"). */
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** The shell's exit code for a process that a signal ended: 128 plus the signal's number. */
const ENDED_BY = { SIGTERM: 143, SIGINT: 130 } as const;

/**
 * Runs work and notifies it of the first signal. Call this before any slow work: a signal without a listener does not
 * end the first process of a container.
 */
export async function untilToldToStop<Result>(goOn: (told: Promise<void>) => Promise<Result>): Promise<Result> {
  let isTold = false;
  let tell = (): void => undefined;
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const heard = (signal: NodeJS.Signals): void => {
    if (isTold) process.exit(ENDED_BY[signal as keyof typeof ENDED_BY]);
    isTold = true;
    tell();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, heard);
  try {
    return await goOn(told);
  } finally {
    for (const signal of STOP_SIGNALS) process.off(signal, heard);
  }
}
