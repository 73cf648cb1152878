/** Why something could not be had from another server. */

export interface Problem {
  /** As the service logs it. */
  readonly sentence: string | undefined;
  /** Of the last answer; `undefined` where none came. */
  readonly status: number | undefined;
}

/** What it is, and what to do where the status alone says so. */
export function describeProblem({ sentence, status }: Problem): {
  readonly sentence: string;
  readonly remedy: string | undefined;
} {
  const said = sentence ?? 'It did not answer in time.';
  if (status !== undefined && status >= 300 && status < 400) {
    return {
      sentence: `${said} That is a redirect, and none is followed.`,
      remedy: 'Configure the address that it leads to.',
    };
  }
  return { sentence: said, remedy: undefined };
}
