/**
 * Where a request stands in a trace that somebody before it began (W3C Trace Context, Recommendation of 23 November
 * 2021, §3.2): what is read of `traceparent`, and what is passed on.
 */

export interface Trace {
  /** 32 lowercase hex digits. */
  readonly traceId: string;
  /** Of this service's part in it, 16 lowercase hex digits. */
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** What was sent: `Trace` but for a span of our own. */
export type TraceParent = Pick<Trace, 'traceId' | 'isSampled'>;

/** §3.2.2: what every version begins with. Uppercase digits are malformed. */
const BEGINNING = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/;
const BEGINNING_LENGTH = 55;
/** §3.2.2.5.1. The other bits mean nothing in version 00, and are not passed on. */
const SAMPLED = 0x01;

/** A malformed header is as good as none (§3.3): `undefined`. */
export function parseTraceparent(header: string): TraceParent | undefined {
  const [, version, traceId = '', parentId = '', flags = ''] = BEGINNING.exec(header) ?? [];
  if (version === undefined || version === 'ff') return undefined;
  if (isZero(traceId) || isZero(parentId)) return undefined;
  // §3.2.4: a later version may go on behind a dash; this one ends here.
  const rest = header.slice(BEGINNING_LENGTH);
  if (rest !== '' && (version === '00' || !rest.startsWith('-'))) return undefined;
  return { traceId, isSampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** For whoever is asked next: our span is its parent. Always version 00, which is the one that we know (§3.2.4). */
export function formatTraceparent({ traceId, spanId, isSampled }: Trace): string {
  return `00-${traceId}-${spanId}-${isSampled ? '01' : '00'}`;
}

function isZero(digits: string): boolean {
  return /^0*$/.test(digits);
}
