/** The result of each kind of verification of `mandate audit-verify`, and the progress bar of those that take long. */

import { progressBar } from '../../../adapters/cli/progress-bar.ts';

export interface Verdict {
  /** Whether no fault was found, and the policy is met. */
  readonly isIntact: boolean;
  /** The report. */
  readonly text: string;
}

/** Shows a bar on a terminal, and clears it before anything else is printed. */
export async function withProgress<Outcome>(
  verify: (progress: ((done: number, total: number) => void) | undefined) => Promise<Outcome>,
): Promise<Outcome> {
  const bar = progressBar(process.stderr, () => performance.now());
  try {
    return await verify(process.stderr.isTTY ? bar.show : undefined);
  } finally {
    bar.clear();
  }
}
