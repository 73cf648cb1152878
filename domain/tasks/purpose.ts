/** The purpose that an agent states for a task (`Service:Tasks:Purpose`): words of the agent, which no check covers. */

/** Long enough for two sentences, which a person reads on a phone. */
const MAX_PURPOSE = 300;
const CONTROL = /\p{Cc}/u;

/** `Service:Tasks:Purpose`. */
export type PurposeMode = 'off' | 'accept' | 'require';

/** Kept beside the ledger, which has only a hash of salt and words, until the task is deleted. */
export interface StatedPurpose {
  readonly words: string;
  /** Random characters. */
  readonly salt: string;
}

/**
 * The problem of a text that is no purpose, worded to follow its name. Format characters are accepted: pages isolate them. A
 * lone surrogate could not be stored.
 */
export function purposeProblem(text: string): string | undefined {
  if (text !== '' && text.length <= MAX_PURPOSE && !CONTROL.test(text) && text.isWellFormed()) return undefined;
  return `must be 1 to ${MAX_PURPOSE} characters without control characters`;
}

/** The `detail` of `purpose.stated`. @param hash SHA-256 of the salt's characters, then of the words in UTF-8; in lowercase hex */
export function purposeDetail(hash: string): string {
  return `sha256=${hash}`;
}
