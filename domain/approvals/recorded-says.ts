/**
 * The line of a person's no, compared with the record of the refusal, which has only a hash of it. `@mandate/audit` brings this
 * file, so it does not import the rules of a line (person-says.ts).
 */

import { isHashOfText } from '../ledger/sealed-text.ts';

/** Kept beside the ledger until the approval is deleted with its task. */
export interface PersonSays {
  readonly text: string;
  /** Random characters. */
  readonly salt: string;
}

/** Whether the stored line is the one whose hash the record of the refusal has. Both may be missing. */
export function isRecordedSays(
  digest: (text: string) => string,
  says: PersonSays | undefined,
  hash: string | undefined,
): boolean {
  if (says === undefined || hash === undefined) return says === hash;
  return isHashOfText(digest, { salt: says.salt, hash }, says.text);
}
