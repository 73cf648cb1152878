/**
 * The opaque `next_cursor` of a ledger page (specification "GET /audit"; supplement "The ledger"): the position of the
 * page's last record, to the microsecond, and a fingerprint of the filters. It reveals nothing that the page does not.
 */

import { type Instant, instantFromMicros } from '../instant.ts';
import { decodeCanonical } from '../tokens/canonical-base64url.ts';

export interface PageCursor {
  readonly at: Instant;
  readonly seq: number;
  /** Identifies the filters: continuing with other filters would skip records that they select. */
  readonly fingerprint: string;
}

/** The decoded text of a cursor: microseconds, sequence number, 128 bits of a hash in hex. */
const CONTENT = /^(\d{1,16}) (\d{1,16}) ([0-9a-f]{32})$/;

export function formatCursor({ at, seq, fingerprint }: PageCursor): string {
  return Buffer.from(`${at} ${seq} ${fingerprint}`, 'latin1').toString('base64url');
}

export function parseCursor(text: string): PageCursor | undefined {
  const bytes = decodeCanonical(text);
  const content = bytes === undefined ? null : CONTENT.exec(Buffer.from(bytes).toString('latin1'));
  if (content === null) return undefined;
  const [, micros, seq, fingerprint = ''] = content;
  const at = Number(micros);
  const number = Number(seq);
  if (!Number.isSafeInteger(at) || !Number.isSafeInteger(number)) return undefined;
  return { at: instantFromMicros(at), seq: number, fingerprint };
}
