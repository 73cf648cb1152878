/** How long a private cache may reuse an answer, by its headers (RFC 9111 §4.2). */

import type { IncomingHttpHeaders } from 'node:http';
import { trimOws } from '../../domain/trim-ows.ts';

/**
 * Seconds from when the request was sent. 0 if no header says how long, or two disagree: a guess could keep what its owner has
 * changed.
 */
export function freshnessOf(headers: IncomingHttpHeaders): number {
  const directives = (headers['cache-control'] ?? '').split(',').map((text) => trimOws(text).toLowerCase());
  // RFC 9111 §5.2.2.4, §5.2.2.5: with no-cache it may be kept, and not reused without asking again.
  if (directives.some((directive) => /^no-(?:store|cache)(?:=|$)/.test(directive))) return 0;
  // RFC 9111 §4.1: an answer that varies by anything fits no later request.
  if (headers.vary?.includes('*')) return 0;
  const ages = directives.flatMap((directive) =>
    directive.startsWith('max-age=') ? secondsIn(directive.slice(8)) : [],
  );
  const lifetime = ages.length > 0 ? agreed(ages) : lifetimeOf(headers);
  // RFC 9111 §5.1: how long other caches have kept it.
  const age = headers.age === undefined ? 0 : secondsIn(headers.age);
  return Math.max(0, lifetime - age);
}

/** RFC 9111 §4.2.1: with two values, the answer counts as stale. */
function agreed(ages: readonly number[]): number {
  const [first = 0] = ages;
  return ages.every((age) => age === first) ? first : 0;
}

/** RFC 9111 §5.3: an `Expires` that is no date, such as 0, is in the past. */
function lifetimeOf({ expires, date }: IncomingHttpHeaders): number {
  if (expires === undefined || date === undefined) return 0;
  const seconds = (Date.parse(expires) - Date.parse(date)) / 1000;
  return Number.isNaN(seconds) ? 0 : Math.max(0, Math.floor(seconds));
}

/** RFC 9111 §1.2.2; §5.2 allows quotes. 0 if it is no number. */
function secondsIn(text: string): number {
  const digits = /^"?(\d{1,10})"?$/.exec(trimOws(text))?.[1];
  return digits === undefined ? 0 : Number(digits);
}
