/** Runs work that starts servers and makes folders, then removes all of them. */

/** Registers a cleanup step. The steps run in reverse order. */
export type Cleanup = (step: () => unknown) => void;

/** Runs every cleanup step, even if the work or another step fails: no server may outlive the run. */
export async function withCleanup<Result>(work: (cleanup: Cleanup) => Promise<Result>): Promise<Result> {
  const steps: (() => unknown)[] = [];
  try {
    return await work((step) => void steps.push(step));
  } finally {
    for (const step of steps.reverse()) {
      try {
        await step();
      } catch (error) {
        console.error(error);
        process.exitCode = 1;
      }
    }
  }
}
