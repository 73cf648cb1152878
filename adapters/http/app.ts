/**
 * The way of a request (specification "Endpoints"). `server` checks the syntax of its head. routes.ts finds its row,
 * which says how it is treated. `admission` admits it or refuses it. observed-requests.ts logs and measures it.
 *
 * Then a surface serves it: `oauth` for agents and tool servers, `admin` for operators, `me` for people, `scim`,
 * `backchannel-logout` and `events` for the identity provider, `public` for all clients. `authorize` is for people whom a client sends.
 *
 * A surface authenticates the request and parses it (`message`), calls one use case of `application`, and turns the
 * outcome into an answer. The console (`console`) and a witness (`witness`) listen on separate ports. `browser` has
 * what the pages of `/me`, `authorize` and the console share. openapi.json describes the paths for clients.
 */

import type { RequestListener, ServerResponse } from 'node:http';
import type { Express } from 'express';
import type { SigningKeys } from '../../application/ports/keys.ts';
import type { Randomness, ReadinessCheck } from '../../application/ports/runtime.ts';
import type { Log, Measurements, Tracing } from '../../application/ports/telemetry.ts';
import type { ActedOn } from './acted-on.ts';
import { type AdminSurface, adminRouter } from './admin/admin-router.ts';
import { type AuditSurface, auditRouter } from './admin/audit-router.ts';
import { type AdmissionControl, admission } from './admission/admission.ts';
import type { PagesOf } from './admission/refusals.ts';
import { type BackchannelLogoutSurface, backchannelLogoutRouter } from './backchannel-logout/router.ts';
import { type EventsSurface, eventsRouter } from './events/router.ts';
import { expressApp } from './express-app.ts';
import type { MeRoutes, MeSurfaces } from './me/me-routes.ts';
import { answerFaults, unknownPath } from './message/problem-details.ts';
import { neverCached } from './oauth/answers.ts';
import { type OAuthSurface, oauthEndpoints } from './oauth/endpoints.ts';
import { REGISTRATION_PATH } from './oauth/register.ts';
import { loggedRequests, measuredRequests, tracedRequests } from './observed-requests.ts';
import { crossOrigin } from './public/cross-origin.ts';
import {
  type AgentKeysSurface,
  agentKeysRouter,
  discoveryRouter,
  REVOCATION_PATH,
  TOKEN_PATH,
} from './public/documents.ts';
import { healthRouter, optionsEndpoint } from './public/health.ts';
import {
  type FrontHandler,
  ME_ROW,
  type OptionalPath,
  pathOf,
  type RouteOf,
  routed,
  routeTable,
  withoutIssuerPath,
} from './routes.ts';
import { type ScimSurface, scimRouter } from './scim/scim-router.ts';
import { messageClasses, type ServedRequest } from './server/message-classes.ts';
import type { MessageClasses } from './server/server.ts';

export interface HttpSurfaces {
  readonly admission: AdmissionControl;
  readonly issuer: string;
  readonly signingKeys: SigningKeys;
  readonly oauth: OAuthSurface;
  readonly admin: ActedOn<AdminSurface>;
  readonly audit: AuditSurface;
  /** `undefined` without `Service:Me`: the paths are then unknown, and their code is not loaded. */
  readonly me: (MeSurfaces & { readonly routes: (surfaces: MeSurfaces) => MeRoutes }) | undefined;
  readonly agentKeys: AgentKeysSurface;
  /** The paths that the settings switch on, beside `/me`. */
  readonly optional: readonly OptionalPath[];
  /** With `Service:Authorize:ClientId`. `publicClients`: whether a program may authenticate by its id alone. */
  readonly authorizing: { readonly publicClients: boolean } | undefined;
  /** `undefined` if the receiver is not configured: its path is then unknown. */
  readonly backchannelLogout: BackchannelLogoutSurface | undefined;
  readonly events: EventsSurface | undefined;
  /** `undefined` if it is not configured. */
  readonly scim: ScimSurface | undefined;
  readonly readiness: readonly ReadinessCheck[];
  readonly log: Log;
  readonly randomness: Randomness;
  /** `undefined` if nothing is measured. */
  readonly measurements: Measurements | undefined;
  /** `undefined` without spans. */
  readonly tracing: Tracing | undefined;
}

export interface HttpApp {
  readonly listener: RequestListener;
  /** The classes with which the server must create requests and responses. */
  readonly classes: MessageClasses;
}

interface Routing {
  /** Handlers in front of Express, by path. */
  readonly endpoints: ReadonlyMap<string, RequestListener>;
  /** Serves every other path. */
  readonly app: Express;
  readonly me: MeRoutes | undefined;
  /** With `/me`. */
  readonly optional: readonly OptionalPath[];
}

/** Every route of the service. A test compares them with openapi.json. */
export function routing(surfaces: HttpSurfaces): Routing {
  const app = expressApp();
  const me = surfaces.me?.routes(surfaces.me);
  const optional = me === undefined ? surfaces.optional : [...surfaces.optional, { ...ME_ROW, router: me.router }];
  // First, because their most frequent requests come here: Express compares a path with one route after another.
  for (const row of optional) if ('router' in row) app.use(row.path, row.router);
  app.use('/oauth2', (_request, response, next) => {
    neverCached(response);
    next();
  });
  app.use(healthRouter(surfaces.readiness));
  app.use(discoveryRouter(surfaces));
  app.use('/agents', agentKeysRouter(surfaces.agentKeys));
  app.use('/admin', adminRouter(surfaces.admin));
  app.use('/audit', auditRouter(surfaces.audit));
  if (surfaces.backchannelLogout !== undefined) app.use(backchannelLogoutRouter(surfaces.backchannelLogout));
  if (surfaces.events !== undefined) app.use(eventsRouter(surfaces.events));
  app.use('/scim', scimRouter(surfaces.scim, surfaces.log));
  app.use(unknownPath);
  app.use(answerFaults(surfaces.log));
  const endpoints = new Map(oauthEndpoints(surfaces.oauth));
  for (const row of optional) if ('serve' in row) endpoints.set(row.path, row.serve);
  return { endpoints, app, me, optional };
}

const ALLOWED = { '*': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS', '/': 'OPTIONS' };

export function httpApp(surfaces: HttpSurfaces): HttpApp {
  const { endpoints, app, me, optional } = routing(surfaces);
  const front = optional.flatMap((row) => ('inFront' in row ? [row.inFront] : []));
  const application = (request: ServedRequest, response: ServerResponse) => {
    const path = pathOf(request.url ?? '');
    const endpoint = endpoints.get(path) ?? optionsEndpoint(ALLOWED, request.method, path);
    let ahead: FrontHandler | undefined;
    for (const find of endpoint === undefined ? front : []) ahead ??= find(request);
    request.endpoint = endpoint === undefined ? ahead?.route : path;
    (endpoint ?? ahead?.serve ?? app)(request, response);
  };
  const observed = observedRequests(surfaces, application, routeTable(optional), { me: me?.refusalPages });
  const withoutPrefix = withoutIssuerPath(surfaces.issuer, optional);
  const isPreflight =
    surfaces.authorizing &&
    crossOrigin(new Set([TOKEN_PATH, REVOCATION_PATH, REGISTRATION_PATH].filter((path) => endpoints.has(path))));
  return {
    listener(request, response) {
      request.url = withoutPrefix(request.url ?? '');
      if (isPreflight?.(request, response) !== true) observed(request, response);
    },
    classes: messageClasses(app),
  };
}

/** In front of the application: admission, and what is logged, measured and traced of each request. */
export function observedRequests(
  {
    log,
    randomness,
    measurements,
    tracing,
    ...surfaces
  }: Pick<HttpSurfaces, 'admission' | 'log' | 'randomness' | 'measurements' | 'tracing'>,
  next: RequestListener,
  routes: RouteOf,
  pages: PagesOf,
): RequestListener {
  const logged = loggedRequests(log, randomness, next);
  const admitted = admission({ ...surfaces.admission, pages: { ...surfaces.admission.pages, ...pages } }, logged);
  const measured = measurements === undefined ? admitted : measuredRequests(measurements, admitted);
  const traced = tracing === undefined ? measured : tracedRequests(tracing, measured);
  return routed(routes, traced);
}
