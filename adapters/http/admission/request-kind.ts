/**
 * What admission needs to know of a request before anybody has looked at it, from its path alone: whose answer it gets,
 * which bucket it takes from and among which work it waits (specification "Rate limiting", "Overload", "Events").
 */

import type { DenialEvent } from '../../../domain/ledger/aggregation.ts';

/** In whose shape a refusal is said (decisions "Errors elsewhere"). */
export type Surface = 'oauth' | 'backchannel_logout' | 'scim' | 'events' | 'admin' | 'public';

export const buckets = ['main', 'introspection', 'logout', 'scim', 'events'] as const;
export type Bucket = (typeof buckets)[number];

/** What runs at once is limited for each by itself: none can take the others' turns. */
export const works = ['token', 'introspection', 'revoking', 'proof', 'other'] as const;
export type Work = (typeof works)[number];

export interface RequestKind {
  readonly surface: Surface;
  readonly event: DenialEvent;
  readonly bucket: Bucket;
  readonly work: Work;
  /** Whether a POST brings a form: those are read before a turn is waited for. */
  readonly takesForm: boolean;
}

/** Neither counted nor limited. */
export const HEALTH = 'health';

/**
 * Without the query. The router decodes nothing before it matches a path and minds its case, so neither is done here: a
 * path that is written in another way is not that path there either.
 */
export function requestKind(url: string): RequestKind | typeof HEALTH {
  const query = url.indexOf('?');
  const path = query === -1 ? url : url.slice(0, query);
  const exact = EXACT.get(path);
  if (exact !== undefined) return exact;
  const end = path.indexOf('/', 1);
  const below = BELOW.get(end === -1 ? path : path.slice(0, end)) ?? PUBLIC;
  return below === AUDIT && PROOF_PATH.test(path) ? PROOF : below;
}

const kind = (surface: Surface, event: DenialEvent, more: Partial<RequestKind> = {}): RequestKind => ({
  ...{ surface, event, bucket: 'main', work: 'other', takesForm: false },
  ...more,
});

const OAUTH = kind('oauth', 'token.denied');
const LOGOUT = kind('backchannel_logout', 'signal.denied', { bucket: 'logout', work: 'revoking' });
const AUDIT = kind('admin', 'admin.denied');
const PUBLIC = kind('public', 'token.denied');

/** Each reads and hashes a page of the ledger, or a whole checkpoint the first time. */
const PROOF = kind('admin', 'admin.denied', { work: 'proof' });
const PROOF_PATH = /^\/audit\/records\/[^/]+\/proof$/;

const EXACT = new Map<string, RequestKind | typeof HEALTH>([
  ['/oauth2/token', { ...OAUTH, work: 'token', takesForm: true }],
  ['/oauth2/introspect', { ...OAUTH, bucket: 'introspection', work: 'introspection', takesForm: true }],
  ['/oauth2/revoke', { ...OAUTH, work: 'revoking', takesForm: true }],
  ['/backchannel-logout', { ...LOGOUT, takesForm: true }],
  ['/healthz', HEALTH],
  ['/readyz', HEALTH],
]);

const BELOW: ReadonlyMap<string, RequestKind> = new Map([
  ['/oauth2', OAUTH],
  ['/backchannel-logout', LOGOUT],
  ['/scim', kind('scim', 'scim.denied', { bucket: 'scim', work: 'revoking' })],
  ['/events', kind('events', 'ssf.denied', { bucket: 'events', work: 'revoking' })],
  ['/admin', kind('admin', 'admin.denied', { work: 'revoking' })],
  ['/audit', AUDIT],
]);
