/**
 * Sponsor keys: 1 to 256 characters, none of them white space or a control character (specification "Admin API").
 *
 * `.` and `..` are refused as well: in a URL path they are removed however they are encoded (RFC 3986 §5.2.4). The
 * admin API could not address, and so not block, such a person.
 */

import type { SponsorKey } from '../identifiers.ts';

const MAX_LENGTH = 256;
const FORBIDDEN = /[\s\p{Cc}]|^\.{1,2}$/u;

export function parseSponsorKey(text: string): SponsorKey | undefined {
  const usable = text.length >= 1 && text.length <= MAX_LENGTH && text.isWellFormed() && !FORBIDDEN.test(text);
  return usable ? (text as SponsorKey) : undefined;
}
