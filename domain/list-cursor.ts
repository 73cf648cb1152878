/** The opaque `next_cursor` of a list: the position of the page's last item, and a fingerprint of the query. */

import { decodeCanonical } from './tokens/canonical-base64url.ts';
import { readUtf8 } from './tokens/strict-utf8.ts';

export interface ListCursor {
  /** Identifies the query: the cursor of one query continues no other. */
  readonly fingerprint: string;
  /** Texts without white space. */
  readonly position: readonly string[];
}

export function formatListCursor({ fingerprint, position }: ListCursor): string {
  return Buffer.from([fingerprint, ...position].join(' ')).toString('base64url');
}

export function parseListCursor(text: string): ListCursor | undefined {
  const bytes = decodeCanonical(text);
  const content = bytes && readUtf8(bytes);
  if (content === undefined) return undefined;
  const [fingerprint = '', ...position] = content.split(' ');
  return { fingerprint, position };
}
