/**
 * Why a person said no to an action: one optional line, which the agent gets as the person's words. The record of the refusal
 * has only a hash of the line.
 */

import { hasControl } from '../control-characters.ts';
import type { SealedText } from '../ledger/sealed-text.ts';
import { isBlank } from '../visible.ts';
import type { PersonSays } from './recorded-says.ts';

/** UTF-16 code units, as the `maxlength` of a form: a reason, and no letter. */
export const MAX_SAYS = 200;
export const SAYS_SENTENCE = `Must be at most ${MAX_SAYS} characters without control characters.`;

export type SealedSays = PersonSays & SealedText;

/**
 * The line without the space around it, and the empty text for a blank one, which says nothing. `undefined` for a text that breaks
 * the rules. Format characters are accepted, as in a purpose: pages show them by their numbers. A lone surrogate could not be stored.
 */
export function parseSays(given: string): string | undefined {
  const text = given.trim();
  if (text.length > MAX_SAYS || hasControl(text) || !text.isWellFormed()) return undefined;
  return isBlank(text) ? '' : text;
}
