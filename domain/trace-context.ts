/**
 * The position of a request in a trace that an earlier service began (W3C Trace Context, Recommendation of 23 November
 * 2021, §3.2): reads `traceparent`, and writes the one for outgoing requests.
 */

export interface Trace {
  /** 32 lowercase hex digits. */
  readonly traceId: string;
  /** Of this service's span; in a received header of the client's. 16 lowercase hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
  /** `tracestate`, for the spans only: it is neither logged nor sent, because it may contain any data of another vendor. */
  readonly state?: string | undefined;
}

/** §3.2.2: the fields common to all versions. Uppercase digits are malformed. */
const BEGINNING = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;
const BEGINNING_LENGTH = 55;
/** §3.2.2.5.1. Version 00 does not define the other bits, so they are not passed on. */
const SAMPLED = 0x01;

/** `undefined` for a malformed header, which is treated like a missing one (§3.3). */
export function parseTraceparent(header: string): Trace | undefined {
  const [, version, traceId = '', parentId = '', flags = ''] = BEGINNING.exec(header) ?? [];
  if (version === undefined || version === 'ff') return undefined;
  if (isZero(traceId) || isZero(parentId)) return undefined;
  // §3.2.4: a later version may add fields after a dash; version 00 ends here.
  const rest = header.slice(BEGINNING_LENGTH);
  if (rest !== '' && (version === '00' || !rest.startsWith('-'))) return undefined;
  return { traceId, spanId: parentId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** The header of an outgoing request: our span is its parent. Always version 00, the one that we implement (§3.2.4). */
export function formatTraceparent({ traceId, spanId, isSampled }: Trace): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

function isZero(digits: string): boolean {
  return /^0*$/.test(digits);
}
