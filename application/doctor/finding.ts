/** What `mandate doctor` finds: one line for each thing that it looks at. */

export type FindingStatus =
  | 'ok'
  /** The service can run, and an operator should know. */
  | 'warning'
  /** It could not do what it is for, or not be trusted with it. */
  | 'failed'
  /** Not looked at: nothing of the kind is configured, or what it needs was not to be had. */
  | 'skipped';

export interface Finding {
  readonly status: FindingStatus;
  /** One sentence or two, with nothing secret. */
  readonly sentence: string;
  /** What to do, as a sentence; where there is something to do. */
  readonly remedy?: string | undefined;
}

export interface NamedFinding extends Finding {
  readonly check: string;
}

/** One thing to look at. */
export interface Examination {
  readonly check: string;
  /** May throw: then it failed, and only the error's code is told. */
  examine(): Promise<Finding>;
}

export const ok = (sentence: string): Finding => ({ status: 'ok', sentence });
export const warning = (sentence: string, remedy: string): Finding => ({ status: 'warning', sentence, remedy });
export const failed = (sentence: string, remedy: string): Finding => ({ status: 'failed', sentence, remedy });
export const skipped = (sentence: string): Finding => ({ status: 'skipped', sentence });
