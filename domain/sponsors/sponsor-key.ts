/** Sponsor keys: 1 to 256 characters, none of them white space or a control character (specification "Admin API"). */

import type { SponsorKey } from '../identifiers.ts';

const MAX_LENGTH = 256;
const FORBIDDEN = /[\s\p{Cc}]/u;

export function parseSponsorKey(text: string): SponsorKey | undefined {
  const usable = text.length >= 1 && text.length <= MAX_LENGTH && text.isWellFormed() && !FORBIDDEN.test(text);
  return usable ? (text as SponsorKey) : undefined;
}
