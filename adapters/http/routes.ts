/**
 * The table of all paths. It says how a request is treated before the application sees it: the format of a refusal, the
 * ledger event, the rate limit bucket, the concurrency limit and the metric label (specification "Rate limiting",
 * "Overload", "Events"; supplement "Errors elsewhere").
 */

import type { RequestListener } from 'node:http';
import type { Router } from 'express';
import type { Surface as MetricSurface } from '../../application/ports/telemetry.ts';
import type { DenialEvent } from '../../domain/ledger/aggregation.ts';
import type { ServedRequest, ServedResponse } from './server/message-classes.ts';

/** The surface decides the format of a refusal. */
export type Surface =
  | 'oauth'
  | 'backchannel_logout'
  | 'scim'
  | 'events'
  | 'admin'
  | 'me'
  | 'authorize'
  | 'console'
  | 'public';

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

/** A path, and how the requests there are treated. */
export interface PathRow {
  readonly path: string;
  /**
   * Whether the row is for this path alone. Otherwise the path has one segment or two, and the row is for all paths below it too. That
   * of two segments comes first.
   */
  readonly isExact?: boolean;
  /** A function chooses by the whole path. */
  readonly route: Route | ((path: string) => Route);
}

/**
 * A path that a setting switches on. An instance without its row answers as at an unknown path. app.ts mounts it; the table
 * below, the issuer's path and the metadata follow from the row.
 */
export type OptionalPath = PathRow &
  (
    | { readonly isExact: true; readonly serve: RequestListener; readonly advertisedAs?: string }
    | {
        readonly router: Router;
        /** Finds the handler of a frequent request, in front of Express. */
        readonly inFront?: (request: ServedRequest) => FrontHandler | undefined;
        /** The member of the metadata that has the address (RFC 8414 §2). */
        readonly advertisedAs?: string;
      }
  );

export interface FrontHandler {
  /** The pattern of the path. */
  readonly route: string;
  readonly serve: RequestListener;
}

/** How a request with this target is treated. */
export type RouteOf = (target: string) => Route;

/** A handler in front of the application. */
export type RoutedListener = (request: ServedRequest, response: ServedResponse, route: Route) => void;

/** Finds the route of each request, once. */
export function routed(routes: RouteOf, next: RoutedListener): RequestListener {
  return (request, response) => next(request, response, routes(request.url ?? ''));
}

/** @param optional the paths of this instance beside those of every instance */
export function routeTable(optional: readonly PathRow[] = []): RouteOf {
  const [exact, below] = [new Map<string, PathRow['route']>(), new Map<string, PathRow['route']>()];
  for (const { path, route, isExact } of [...ROWS, ...optional]) (isExact ? exact : below).set(path, route);
  // Like the router, the table compares a path as it was sent, without decoding it.
  return (target) => {
    const path = pathOf(target);
    const route = exact.get(path) ?? below.get(beginning(path, 2)) ?? below.get(beginning(path, 1)) ?? OTHER;
    return typeof route === 'function' ? route(path) : route;
  };
}

/** The first segments of a path. */
function beginning(path: string, segments: number): string {
  let end = 0;
  for (let nth = 0; nth < segments && end !== -1; nth += 1) end = path.indexOf('/', end + 1);
  return end === -1 ? path : path.slice(0, end);
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
/** A tool server asks: it introspects, or asks for an approval instead. */
export const ASKED: Route = { ...OAUTH, bucket: 'introspection', work: 'introspection', takesForm: true };
/** A program registers itself. */
export const REGISTERED: Route = { ...OAUTH, event: 'authorization.denied' };
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
const receiver = (name: 'scim' | 'events', event: DenialEvent): Route => {
  return { ...OTHER, surface: name, event, bucket: name, work: 'revoking', metric: name };
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

const AUTHORIZE_PATH = '/oauth2/authorize';
/** A person's page and answer. */
const AUTHORIZE: Route = {
  ...OTHER,
  surface: 'authorize',
  event: 'authorization.denied',
  metric: 'authorize',
  takesForm: true,
};
/** These wait for the identity provider, as sign-ins at `/me` do. */
const AUTHORIZE_SIGN_IN: Route = { ...AUTHORIZE, work: 'sign_in' };
const AUTHORIZE_SIGN_IN_PATHS: ReadonlySet<string> = new Set([AUTHORIZE_PATH, `${AUTHORIZE_PATH}/callback`]);

/** With `Service:Authorize:ClientId`. */
export const AUTHORIZE_ROW = {
  path: AUTHORIZE_PATH,
  route: (path: string) => (AUTHORIZE_SIGN_IN_PATHS.has(path.replace(/\/$/, '')) ? AUTHORIZE_SIGN_IN : AUTHORIZE),
};

/** With `Service:Me`. */
export const ME_ROW = { path: ME_PATH, route: meRoute };

/** The paths of every instance. */
const ROWS: readonly PathRow[] = [
  { path: '/oauth2/token', isExact: true, route: { ...OAUTH, work: 'token', metric: 'token', takesForm: true } },
  { path: '/oauth2/introspect', isExact: true, route: { ...ASKED, metric: 'introspection' } },
  {
    path: '/oauth2/revoke',
    isExact: true,
    route: { ...OAUTH, work: 'revoking', metric: 'revocation', takesForm: true },
  },
  { path: '/oauth2', route: OAUTH },
  { path: '/backchannel-logout', isExact: true, route: { ...LOGOUT, takesForm: true } },
  { path: '/backchannel-logout', route: LOGOUT },
  { path: '/scim', route: receiver('scim', 'scim.denied') },
  { path: '/events', route: receiver('events', 'ssf.denied') },
  { path: '/admin', route: ADMIN },
  { path: '/audit', route: (path) => (PROOF_PATH.test(path) ? PROOF : AUDIT) },
  { path: '/.well-known', route: KEYS },
  { path: '/agents', route: KEYS },
  { path: '/healthz', isExact: true, route: HEALTH },
  { path: '/readyz', isExact: true, route: HEALTH },
];

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
export function withoutIssuerPath(issuer: string, optional: readonly PathRow[] = []): WithoutIssuerPath {
  const prefix = issuerPath(issuer);
  if (prefix === '') return (target) => target;
  const firstSegments = new Set([...ROWS, ...optional].map(({ path }) => path.split('/', 2)[1]));
  const inserted = new Map(METADATA.map((path) => [`${path}${prefix}`, path]));
  return (target) => {
    const path = pathOf(target);
    const metadata = inserted.get(path);
    if (metadata !== undefined) return `${metadata}${target.slice(path.length)}`;
    // An issuer's path may equal a segment of this service: with `/oauth2`, `/oauth2/token` stays as it is.
    const rest = path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : undefined;
    return firstSegments.has(rest?.split('/', 2)[1]) ? target.slice(prefix.length) : target;
  };
}
