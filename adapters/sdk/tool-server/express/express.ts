/**
 * What `mandate/tool-server/express` offers: a middleware for each route that says what the route asks. For Express 4
 * and 5, neither of which is imported: the middleware needs only what node:http gives, and the matched route.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { answerRefusal } from '../core/answer-refusal.ts';
import { authorizationHeaders } from '../core/bearer-token.ts';
import type { AccessRequest, ToolServer } from '../core/create-tool-server.ts';
import type { RoutePolicy } from '../core/policy.ts';
import { keepClaims } from '../core/request-claims.ts';

export { claimsOf } from '../core/request-claims.ts';

export interface ExpressRoutePolicy extends RoutePolicy {
  /** What the route is called in events, instead of its method and pattern. */
  readonly name?: string;
}

export type ExpressMiddleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** What Express adds to a request once it knows the route. */
interface Routed {
  readonly route?: { readonly path?: unknown };
}

/**
 * @returns `protect`, to be called once for a route, when the server starts
 * @throws TypeError (`protect` does) on a policy that asks nothing, or is no policy
 */
export function expressProtection(toolServer: ToolServer): (policy: ExpressRoutePolicy) => ExpressMiddleware {
  return ({ name, ...asked }) => guard(toolServer, toolServer.policy(asked), (request) => name ?? routeOf(request));
}

/**
 * For the end of an app: whatever no route before it has answered is refused as `unknown_route`, and a route that
 * somebody adds after it, without a policy, is never reached.
 */
export function refuseUnknownRoutes(toolServer: ToolServer): ExpressMiddleware {
  return guard(toolServer, 'unknown_route', () => null);
}

function guard(
  toolServer: ToolServer,
  policy: AccessRequest['policy'],
  nameOf: (request: IncomingMessage) => string | null,
): ExpressMiddleware {
  return (request, response, next) => {
    const authorization = authorizationHeaders(request.rawHeaders);
    toolServer
      .authorize({ authorization, route: nameOf(request), policy })
      .then((access) => {
        // Somebody else, a time limit say, has answered meanwhile: then nothing is to happen any more.
        if (response.headersSent) return;
        if (access.kind === 'refused') {
          answerRefusal(response, access);
          return;
        }
        keepClaims(request, access.claims);
        next();
      })
      .catch(next);
  };
}

/**
 * The pattern under which a router has this route, never the URL. Without the path at which that router is mounted:
 * Express keeps only what was in the URL there, and no longer the pattern.
 */
function routeOf(request: IncomingMessage & Routed): string | null {
  const path = request.route?.path;
  return path === undefined ? null : `${request.method} ${String(path)}`;
}
