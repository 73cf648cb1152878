/** `/healthz` and `/readyz` (specification "Public"; supplement "Blocks, poll mode, health"). */

import type { RequestListener } from 'node:http';
import express, { type Request, type Response, type Router } from 'express';
import type { ReadinessCheck, ReadinessStatus } from '../../../application/ports/runtime.ts';
import { visibleJson } from '../../../domain/visible.ts';
import { discardRest } from '../message/body.ts';
import { methodNotAllowed } from '../message/problem-details.ts';
import { pathOf } from '../routes.ts';
import type { ServedRequest } from '../server/message-classes.ts';

type Checks = Readonly<Record<string, { readonly status: ReadinessStatus; readonly detail: string }>>;

/** The answer while all other requests are refused, so that a load balancer sends none. */
const STOPPING: Checks = { server: { status: 'Unhealthy', detail: 'The service is stopping.' } };

export function healthRouter(checks: readonly ReadinessCheck[]): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  // `/healthz` only says that the process runs. It asks neither the database nor the provider.
  router
    .route('/healthz')
    .get((request, response) => answer(request, response, {}))
    .all(methodNotAllowed('GET, HEAD'));
  router
    .route('/readyz')
    .get(async (request, response) => {
      if (request.isTooLate) return answer(request, response, STOPPING);
      const results = await Promise.all(checks.map(async (check) => [check.name, await check.check()] as const));
      answer(request, response, Object.fromEntries(results));
    })
    .all(methodNotAllowed('GET, HEAD'));
  return router;
}

/** The `Allow` of a listener. For `*`: every method that some path of it answers (RFC 9110 §9.3.7). */
interface AllowedMethods {
  readonly '*': string;
  readonly '/': string;
}

/** Answers `OPTIONS *` and `OPTIONS /`, the default health checks of some proxies. They say that the process runs. */
export function optionsEndpoint(
  allowed: AllowedMethods,
  method: string | undefined,
  path: string,
): RequestListener | undefined {
  if (method !== 'OPTIONS' || (path !== '*' && path !== '/')) return undefined;
  return (request, response) => {
    discardRest(request);
    response.writeHead(204, { Allow: allowed[path] }).end();
  };
}

/** For a listener without other endpoints in front of its application. */
export function withOptions(allowed: AllowedMethods, app: RequestListener): RequestListener {
  return (request: ServedRequest, response) => {
    const path = pathOf(request.url ?? '');
    const endpoint = optionsEndpoint(allowed, request.method, path);
    if (endpoint !== undefined) request.endpoint = path;
    (endpoint ?? app)(request, response);
  };
}

function answer(request: Request, response: Response, checks: Checks): void {
  const status = worst(Object.values(checks).map((check) => check.status));
  response.set('Cache-Control', 'no-store').status(status === 'Unhealthy' ? 503 : 200);
  if (request.accepts(['text/plain', 'application/json']) === 'application/json') {
    // Operators read it on a terminal, and a detail may name a log or a witness.
    response.type('json').send(visibleJson(JSON.stringify({ status, checks })));
  } else response.type('text/plain').send(status);
}

function worst(statuses: readonly ReadinessStatus[]): ReadinessStatus {
  if (statuses.includes('Unhealthy')) return 'Unhealthy';
  return statuses.includes('Degraded') ? 'Degraded' : 'Healthy';
}
