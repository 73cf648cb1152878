/** SIGTERM and SIGINT ask for an orderly stop; a second one ends the process at once (decisions "How it runs"). */

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/** What a shell expects of a process that a signal ended: 128 and the signal's number. */
const ENDED_BY = { SIGTERM: 143, SIGINT: 130 } as const;

/**
 * Listens for signals while something goes on, which is told when the first one comes. To be begun before anything that
 * takes time: the first process of a container is not even ended by a signal that it does not listen for, and would
 * serve on until it is killed.
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
