/** Which part of the service a path belongs to, for whoever counts: a closed set, whatever is sent. */

import type { Surface } from '../../../application/ports/measurements.ts';

export function measuredSurface(url: string): Surface {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  const exact = EXACT.get(path);
  if (exact !== undefined) return exact;
  const end = path.indexOf('/', 1);
  return BELOW.get(end === -1 ? path : path.slice(0, end)) ?? 'other';
}

const EXACT: ReadonlyMap<string, Surface> = new Map([
  ['/oauth2/token', 'token'],
  ['/oauth2/introspect', 'introspection'],
  ['/oauth2/revoke', 'revocation'],
  ['/healthz', 'health'],
  ['/readyz', 'health'],
]);

const BELOW: ReadonlyMap<string, Surface> = new Map([
  ['/admin', 'admin'],
  ['/audit', 'audit'],
  ['/scim', 'scim'],
  ['/events', 'events'],
  ['/backchannel-logout', 'backchannel_logout'],
  ['/.well-known', 'keys'],
  ['/agents', 'keys'],
]);

/** The first segments of every path that the service has. */
export const ownSegments: ReadonlySet<string> = new Set(
  [...EXACT.keys(), ...BELOW.keys()].map((path) => path.split('/', 2)[1] ?? ''),
);
