/**
 * Sponsor keys: 1 to 256 characters, none of them white space or a control character (specification "Admin API").
 *
 * A single or double dot is none either: in a path it means another place however it is encoded (RFC 3986 §5.2.4), so
 * that nobody could block the person whom it names.
 */

import type { SponsorKey } from '../identifiers.ts';

const MAX_LENGTH = 256;
const FORBIDDEN = /[\s\p{Cc}]|^\.{1,2}$/u;

export function parseSponsorKey(text: string): SponsorKey | undefined {
  const usable = text.length >= 1 && text.length <= MAX_LENGTH && text.isWellFormed() && !FORBIDDEN.test(text);
  return usable ? (text as SponsorKey) : undefined;
}
