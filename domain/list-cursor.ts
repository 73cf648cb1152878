/** The opaque `next_cursor` of a list: the position of the page's last item, and a fingerprint of the query. */

import { decodeCanonical } from './tokens/canonical-base64url.ts';

export interface ListCursor {
  /** Identifies the query: the cursor of one query continues no other. */
  readonly fingerprint: string;
  /** Texts without white space. */
  readonly position: readonly string[];
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function formatListCursor({ fingerprint, position }: ListCursor): string {
  return Buffer.from([fingerprint, ...position].join(' ')).toString('base64url');
}

export function parseListCursor(text: string): ListCursor | undefined {
  const bytes = decodeCanonical(text);
  if (bytes === undefined) return undefined;
  try {
    const [fingerprint = '', ...position] = utf8.decode(bytes).split(' ');
    return { fingerprint, position };
  } catch {
    return undefined;
  }
}
