/** What is wrong in a file of agents, and where. Never holds anything of what the file says but a field's name. */

export interface FileProblem {
  /** As it was named on the command line. */
  readonly file: string;
  /** From 1; `undefined` where it is the file as a whole. */
  readonly line: number | undefined;
  /** `undefined` where it is the registration as a whole. */
  readonly field: string | undefined;
  readonly sentence: string;
}

/** `agents.yaml:7: max_task_ttl: Must be …`, as editors and other programs understand it. */
export function describeFileProblem({ file, line, field, sentence }: FileProblem): string {
  return [line === undefined ? file : `${file}:${line}`, ...(field === undefined ? [] : [field]), sentence].join(': ');
}
