/** The problem of a source that could not be asked, as findings show it. */

import type { Problem } from '../ports/network.ts';

/** Returns the problem in words, and a remedy if the status alone suggests one. */
export function describeProblem({ problem, status }: Problem): {
  readonly sentence: string;
  readonly remedy: string | undefined;
} {
  if (status === undefined || status < 300 || status >= 400) return { sentence: problem, remedy: undefined };
  return {
    sentence: `${problem} That is a redirect, and none is followed.`,
    remedy: 'Configure the address that it leads to.',
  };
}
