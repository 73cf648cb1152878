/** Why an operator makes a change (docs/operators.md, "Reasons"). */

import { hasControl } from '../control-characters.ts';
import { isBlank } from '../visible.ts';

export const MIN_REASON = 3;
export const MAX_REASON = 200;
export const REASON_SENTENCE = `Must be ${MIN_REASON} to ${MAX_REASON} characters without control characters, not all of them blank.`;

/** `undefined` for a text that says nothing, or too much. */
export function parseReason(text: string): string | undefined {
  const reason = text.trim();
  // UTF-16 code units, as every length of this service, and as the `maxlength` of a form.
  const { length } = reason;
  return isBlank(reason) || hasControl(reason) || length < MIN_REASON || length > MAX_REASON ? undefined : reason;
}
