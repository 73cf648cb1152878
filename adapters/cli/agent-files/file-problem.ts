/** An error in a file of agents, and its position. Of the file's text it contains only field names. */

export interface FileProblem {
  /** The path as given on the command line. */
  readonly file: string;
  /** From 1; `undefined` if the problem concerns the whole file. */
  readonly line: number | undefined;
  /** `undefined` if the problem concerns the whole registration. */
  readonly field: string | undefined;
  readonly sentence: string;
}

/** `agents.yaml:7: max_task_ttl: Must be …`, the format that editors and other programs understand. */
export function describeFileProblem({ file, line, field, sentence }: FileProblem): string {
  return [line === undefined ? file : `${file}:${line}`, ...(field === undefined ? [] : [field]), sentence].join(': ');
}
