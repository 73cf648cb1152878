/**
 * Whether a write comes from a page of this service. A browser adds the cookie to requests of other sites too, so a write
 * with a session needs a proof: its origin, and the form token.
 */

import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { singleHeader } from '../message/head.ts';

/**
 * @param origin an address of the pages
 * @param expected the form token of the session
 */
export function isOwnForm(
  request: IncomingMessage,
  origin: string,
  { given, expected }: { readonly given: string | undefined; readonly expected: string },
): boolean {
  return isSameOrigin(origin, request) && isEqual(given ?? '', expected);
}

/** Fetch metadata, or from a browser without it the Origin header. */
function isSameOrigin(address: string, request: IncomingMessage): boolean {
  const site = singleHeader(request, 'sec-fetch-site');
  if (site.kind !== 'absent') return site.kind === 'present' && site.value === 'same-origin';
  const origin = singleHeader(request, 'origin');
  return origin.kind === 'present' && origin.value === new URL(address).origin;
}

/**
 * Whether a script of our own pages may have sent the request, as far as the browser says. An old browser sends neither
 * header with a request of the same origin: the cookie's `SameSite` keeps other sites out there, though not every request of
 * other hosts of the same site.
 *
 * @param address an address of the pages
 */
export function mayBeOwnScript(address: string, request: IncomingMessage): boolean {
  const saysNothing = ['sec-fetch-site', 'origin'].every((name) => singleHeader(request, name).kind === 'absent');
  return saysNothing || isSameOrigin(address, request);
}

function isEqual(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}
