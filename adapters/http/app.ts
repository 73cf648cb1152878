/**
 * The way of a request (specification "Endpoints"). `server` checks the syntax of its head. routes.ts finds its row,
 * which says how it is treated. `admission` admits it or refuses it. observed-requests.ts logs and measures it.
 *
 * Then a surface serves it: `oauth` for agents and tool servers, `admin` for operators, `me` for people, `scim`,
 * `backchannel-logout` and `events` for the identity provider, `public` for all clients.
 *
 * A surface authenticates the request and parses it (`message`), calls one use case of `application`, and turns the
 * outcome into an answer. The console (`console`) and a witness (`witness`) listen on separate ports. `browser` has
 * what the pages at `/me` and the console share. openapi.json describes the paths for clients.
 */

import type { RequestListener, ServerResponse } from 'node:http';
import express from 'express';
import type { SigningKeys } from '../../application/ports/keys.ts';
import type { Randomness, ReadinessCheck } from '../../application/ports/runtime.ts';
import type { Log, Measurements, Tracing } from '../../application/ports/telemetry.ts';
import type { ActedOn } from './acted-on.ts';
import { type AdminSurface, adminRouter } from './admin/admin-router.ts';
import { type AuditSurface, auditRouter } from './admin/audit-router.ts';
import { type AdmissionControl, admission } from './admission/admission.ts';
import type { RefusalPages } from './admission/refusals.ts';
import { type BackchannelLogoutSurface, backchannelLogoutRouter } from './backchannel-logout/router.ts';
import { type EventsSurface, eventsRouter } from './events/router.ts';
import type { MeRoutes, MeSurfaces } from './me/me-routes.ts';
import { answerFaults, unknownPath } from './message/problem-details.ts';
import { neverCached } from './oauth/answers.ts';
import { type OAuthSurface, oauthEndpoints } from './oauth/endpoints.ts';
import { loggedRequests, measuredRequests, tracedRequests } from './observed-requests.ts';
import { type AgentKeysSurface, agentKeysRouter, discoveryRouter } from './public/documents.ts';
import { healthRouter, optionsEndpoint } from './public/health.ts';
import type { LogSurface } from './public/log.ts';
import { type StatusListSurface, statusListEndpoint, statusListRouter } from './public/status-lists.ts';
import { pathOf, type RouteOf, routed, routeOf, withoutIssuerPath } from './routes.ts';
import { type ScimSurface, scimRouter } from './scim/scim-router.ts';
import { type MessageClasses, messageClasses, type ServedRequest } from './server/message-classes.ts';

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
  /** `undefined` without `Service:StatusLists:Enabled`: the paths are then unknown. */
  readonly statusLists: StatusListSurface | undefined;
  /** `undefined` without `Service:Audit:Log:Key`: the paths are then unknown, and their code is not loaded. */
  readonly transparencyLog: (LogSurface & { readonly router: (surface: LogSurface) => express.Router }) | undefined;
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
  readonly app: express.Express;
  readonly me: MeRoutes | undefined;
}

/** Every route of the service. A test compares them with openapi.json. */
export function routing(surfaces: HttpSurfaces): Routing {
  const app = express();
  const me = surfaces.me?.routes(surfaces.me);
  app.disable('x-powered-by');
  // No answer here supports conditional requests, and an ETag would reveal a hash of the content.
  app.disable('etag');
  // Strict parsers of this service read queries and bodies.
  app.set('query parser', false);
  app.set('case sensitive routing', true);
  app.set('strict routing', true);

  // The most frequent requests to Express come first: it compares a path with one route after another.
  if (surfaces.statusLists !== undefined) app.use('/status', statusListRouter(surfaces.statusLists));
  app.use('/oauth2', (_request, response, next) => {
    neverCached(response);
    next();
  });
  app.use(healthRouter(surfaces.readiness));
  app.use(discoveryRouter(surfaces));
  app.use('/agents', agentKeysRouter(surfaces.agentKeys));
  const { transparencyLog } = surfaces;
  if (transparencyLog !== undefined) app.use('/log', transparencyLog.router(transparencyLog));
  app.use('/admin', adminRouter(surfaces.admin));
  app.use('/audit', auditRouter(surfaces.audit));
  if (me !== undefined) app.use('/me', me.router);
  if (surfaces.backchannelLogout !== undefined) app.use(backchannelLogoutRouter(surfaces.backchannelLogout));
  if (surfaces.events !== undefined) app.use(eventsRouter(surfaces.events));
  app.use('/scim', scimRouter(surfaces.scim, surfaces.log));
  app.use(unknownPath);
  app.use(answerFaults(surfaces.log));
  return { endpoints: oauthEndpoints(surfaces.oauth), app, me };
}

const ALLOWED = { '*': 'GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS', '/': 'OPTIONS' };

export function httpApp(surfaces: HttpSurfaces): HttpApp {
  const { endpoints, app, me } = routing(surfaces);
  const lists = surfaces.statusLists && statusListEndpoint(surfaces.statusLists, surfaces.log);
  const application = (request: ServedRequest, response: ServerResponse) => {
    const path = pathOf(request.url ?? '');
    const endpoint = endpoints.get(path) ?? optionsEndpoint(ALLOWED, request.method, path);
    const list = endpoint === undefined ? lists?.(request) : undefined;
    request.endpoint = endpoint === undefined ? list?.route : path;
    (endpoint ?? list?.serve ?? app)(request, response);
  };
  const optional = {
    approvals: surfaces.oauth.approvals !== undefined,
    statusLists: surfaces.statusLists !== undefined,
    me: me !== undefined,
    log: surfaces.transparencyLog !== undefined,
  };
  const observed = observedRequests(surfaces, application, (target) => routeOf(target, optional), me?.refusalPages);
  const withoutPrefix = withoutIssuerPath(surfaces.issuer, optional);
  return {
    listener(request, response) {
      request.url = withoutPrefix(request.url ?? '');
      observed(request, response);
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
  pages: RefusalPages | undefined,
): RequestListener {
  const logged = loggedRequests(log, randomness, next);
  const admitted = admission({ ...surfaces.admission, pages }, logged);
  const measured = measurements === undefined ? admitted : measuredRequests(measurements, admitted);
  const traced = tracing === undefined ? measured : tracedRequests(tracing, measured);
  return routed(routes, traced);
}
