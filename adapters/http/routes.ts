/**
 * The table of all paths. It says how a request is treated before the application sees it: the format of a refusal, the
 * ledger event, the rate limit bucket, the concurrency limit and the metric label (specification "Rate limiting",
 * "Overload", "Events"; supplement "Errors elsewhere").
 */

import type { RequestListener } from 'node:http';
import type { Surface as MetricSurface } from '../../application/ports/telemetry.ts';
import type { DenialEvent } from '../../domain/ledger/aggregation.ts';
import { STATUS_LIST_PATH } from '../../domain/tasks/status-list.ts';
import type { ServedRequest, ServedResponse } from './server/message-classes.ts';

/** The surface decides the format of a refusal. */
export type Surface = 'oauth' | 'backchannel_logout' | 'scim' | 'events' | 'admin' | 'me' | 'console' | 'public';

export const buckets = ['main', 'introspection', 'logout', 'scim', 'events'] as const;
export type Bucket = (typeof buckets)[number];

/** Each kind of work has separate permits, so that none can starve another. */
export const works = ['token', 'introspection', 'revoking', 'proof', 'sign_in', 'console_sign_in', 'other'] as const;
export type Work = (typeof works)[number];

export interface Route {
  readonly surface: Surface;
  readonly event: DenialEvent;
  readonly bucket: Bucket;
  readonly work: Work;
  readonly metric: MetricSurface;
  /** Whether a POST carries a form, which is read before the request waits for a permit. */
  readonly takesForm: boolean;
  /** Health checks are neither rate limited nor queued. */
  readonly isHealth: boolean;
}

/** Whether the instance has these paths. A path that it does not have is answered as an unknown one. */
export interface OptionalPaths {
  readonly approvals?: boolean | undefined;
  readonly statusLists?: boolean | undefined;
  readonly me?: boolean | undefined;
  readonly log?: boolean | undefined;
}

/** How a request with this target is treated. */
export type RouteOf = (target: string) => Route;

/** A handler in front of the application. */
export type RoutedListener = (request: ServedRequest, response: ServedResponse, route: Route) => void;

/** Finds the route of each request, once. */
export function routed(routes: RouteOf, next: RoutedListener): RequestListener {
  return (request, response) => next(request, response, routes(request.url ?? ''));
}

/** @param target the request target. Its query is ignored */
export function routeOf(target: string, optional: OptionalPaths = {}): Route {
  const path = pathOf(target);
  const exact = EXACT.get(path);
  if (exact !== undefined) return exact;
  if (path === APPROVAL_PATH && optional.approvals) return APPROVAL;
  const end = path.indexOf('/', 1);
  const segment = end === -1 ? path : path.slice(0, end);
  if (segment === STATUS_LIST_PATH && optional.statusLists) return STATUS_LISTS;
  if (segment === LOG_PATH && optional.log) return LOG;
  if (segment === ME_PATH && optional.me) return meRoute(path);
  const route = BELOW.get(segment) ?? OTHER;
  return route === AUDIT && PROOF_PATH.test(path) ? PROOF : route;
}

/** The path of a request target, without its query. */
export function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query === -1 ? target : target.slice(0, query);
}

/** The route of a path that is in no table. */
export const OTHER: Route = {
  surface: 'public',
  event: 'token.denied',
  bucket: 'main',
  work: 'other',
  metric: 'other',
  takesForm: false,
  isHealth: false,
};
const HEALTH: Route = { ...OTHER, metric: 'health', isHealth: true };
const KEYS: Route = { ...OTHER, metric: 'keys' };
const OAUTH: Route = { ...OTHER, surface: 'oauth' };
/** A tool server asks for a list instead of introspecting. */
const STATUS_LISTS: Route = { ...OTHER, bucket: 'introspection', work: 'introspection', metric: 'status_lists' };
export const APPROVAL_PATH = '/oauth2/approval';
/** A tool server asks in place of introspecting. */
const APPROVAL: Route = {
  ...OAUTH,
  bucket: 'introspection',
  work: 'introspection',
  metric: 'approval',
  takesForm: true,
};
const LOG_PATH = '/log';
const LOG: Route = { ...OTHER, metric: 'log' };
const ADMIN: Route = { ...OTHER, surface: 'admin', event: 'admin.denied', work: 'revoking', metric: 'admin' };
const AUDIT: Route = { ...ADMIN, work: 'other', metric: 'audit' };
const LOGOUT: Route = {
  ...OTHER,
  surface: 'backchannel_logout',
  event: 'signal.denied',
  bucket: 'logout',
  work: 'revoking',
  metric: 'backchannel_logout',
};

/** A proof reads and hashes a page of the ledger. The first proof of a checkpoint hashes all its records. */
const PROOF: Route = { ...AUDIT, work: 'proof' };
const PROOF_PATH = /^\/(?:audit|me)\/records\/[^/]+\/proof$/;

const ME_PATH = '/me';
const ME: Route = { ...OTHER, surface: 'me', event: 'me.denied', work: 'revoking', metric: 'me', takesForm: true };
const ME_RECORDS: Route = { ...ME, work: 'other' };
const ME_PROOF: Route = { ...ME, work: 'proof' };
/**
 * These wait for the identity provider, before anyone has signed in. With the permits of other work, one client and a slow
 * provider would hold up stops, the key set and the ledger; with those of the console, its operators.
 */
const ME_SIGN_IN: Route = { ...ME, work: 'sign_in', takesForm: false };
/** Waits for the provider only for an address, after the session has ended; and the page after that. */
const ME_SIGN_OUT: Route = { ...ME, work: 'other' };
const SIGN_IN_PATHS: ReadonlySet<string> = new Set([`${ME_PATH}/sign-in`, `${ME_PATH}/callback`]);
const SIGN_OUT_PATHS: ReadonlySet<string> = new Set([`${ME_PATH}/sign-out`, `${ME_PATH}/signed-out`]);

function meRoute(path: string): Route {
  if (SIGN_IN_PATHS.has(path.replace(/\/$/, ''))) return ME_SIGN_IN;
  if (SIGN_OUT_PATHS.has(path)) return ME_SIGN_OUT;
  if (!path.startsWith(`${ME_PATH}/records`)) return ME;
  return PROOF_PATH.test(path) ? ME_PROOF : ME_RECORDS;
}

/** Routes by exact path. Like the router, this table compares a path as it was sent, without decoding it. */
const EXACT: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/oauth2/token', { ...OAUTH, work: 'token', metric: 'token', takesForm: true }],
  [
    '/oauth2/introspect',
    { ...OAUTH, bucket: 'introspection', work: 'introspection', metric: 'introspection', takesForm: true },
  ],
  ['/oauth2/revoke', { ...OAUTH, work: 'revoking', metric: 'revocation', takesForm: true }],
  ['/backchannel-logout', { ...LOGOUT, takesForm: true }],
  ['/healthz', HEALTH],
  ['/readyz', HEALTH],
]);

/** Routes by the first segment of the path. */
const BELOW: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['/oauth2', OAUTH],
  ['/backchannel-logout', LOGOUT],
  ['/scim', { ...OTHER, surface: 'scim', event: 'scim.denied', bucket: 'scim', work: 'revoking', metric: 'scim' }],
  [
    '/events',
    { ...OTHER, surface: 'events', event: 'ssf.denied', bucket: 'events', work: 'revoking', metric: 'events' },
  ],
  ['/admin', ADMIN],
  ['/audit', AUDIT],
  ['/.well-known', KEYS],
  ['/agents', KEYS],
]);

/** The first segment of every path of the service. */
const firstSegments: ReadonlySet<string> = new Set(
  [...EXACT.keys(), ...BELOW.keys()].map((path) => path.split('/', 2)[1] ?? ''),
);

/** RFC 8414 §3.1 puts the issuer's path after these well-known paths. */
const METADATA = ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'];

/** Removes the issuer's path from a request target (path and query). */
type WithoutIssuerPath = (target: string) => string;

/** The path of the issuer, without a trailing slash. Empty if the issuer has no path. */
export function issuerPath(issuer: string): string {
  return new URL(issuer).pathname.replace(/\/+$/, '');
}

/**
 * An issuer may have a path (RFC 8414 §3.1, `https://example.com/mandate`). The service answers with and without it, so
 * every advertised URL works whether or not a proxy strips the path. It is removed before metrics, admission and routing,
 * so that all of them see the same path.
 */
export function withoutIssuerPath(issuer: string, optional: OptionalPaths = {}): WithoutIssuerPath {
  const prefix = issuerPath(issuer);
  if (prefix === '') return (target) => target;
  const inserted = new Map(METADATA.map((path) => [`${path}${prefix}`, path]));
  return (target) => {
    const path = pathOf(target);
    const metadata = inserted.get(path);
    if (metadata !== undefined) return `${metadata}${target.slice(path.length)}`;
    // An issuer's path may equal a segment of this service: with `/oauth2`, `/oauth2/token` stays as it is.
    const rest = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined;
    const segment = rest?.split('/', 2)[1] ?? '';
    const isOptional =
      (optional.statusLists && `/${segment}` === STATUS_LIST_PATH) ||
      (optional.me && `/${segment}` === ME_PATH) ||
      (optional.log && `/${segment}` === LOG_PATH);
    const isOurs = firstSegments.has(segment) || isOptional;
    return isOurs ? target.slice(prefix.length) : target;
  };
}
