/**
 * The exports of `@mandate/tool-server/express`: a middleware that enforces the policy of its route. It works with Express
 * 4 and 5 and imports neither: it needs only node:http's request and response, and the matched route.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Checks, checkArguments, optional, optionsOf, text } from '../../arguments.ts';
import type { DescribeCall, HttpCall } from '../core/approval-text.ts';
import { authorizationHeaders } from '../core/bearer-token.ts';
import { keepClaims } from '../core/claims.ts';
import { APPROVAL, callReader, checkApprovalKey, type HttpRoutePolicy, httpApproval } from '../core/http-approval.ts';
import { checkMiddleware, toolServerMade } from '../core/options.ts';
import { POLICY } from '../core/policy.ts';
import { answerRefusal } from '../core/refusal.ts';
import type { AccessRequest, ToolServer } from '../core/tool-server.ts';

export type { DescribeCall, HttpCall } from '../core/approval-text.ts';
export { claimsOf } from '../core/claims.ts';
export type { HttpRoutePolicy } from '../core/http-approval.ts';

export interface ExpressRoutePolicy extends HttpRoutePolicy {
  /** The route's name in events. The default is its method and pattern. */
  readonly name?: string;
}

export type ExpressMiddleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** The members that Express and its middleware add to a request. */
interface Routed {
  readonly route?: { readonly path?: unknown };
  /** The target before a router cut its mount path off. */
  readonly originalUrl?: string;
  body?: unknown;
}

const TOOL_SERVER = optionsOf({ toolServer: toolServerMade });
const PROTECT: Checks<ExpressRoutePolicy> = { ...POLICY, approval: APPROVAL, name: optional(text) };

/**
 * @returns `protect`, which is called once per route at the start. It throws a TypeError for an invalid policy
 *
 * @example
 * ```ts
 * import { expressProtection } from '@mandate/tool-server/express';
 *
 * const protect = expressProtection(toolServer);
 * app.get('/issues/:key', protect({ scope: ['jira:read'] }), (request, response) => {
 *   response.send(`Issue ${request.params.key}`);
 * });
 * ```
 */
export function expressProtection(toolServer: ToolServer): (policy: ExpressRoutePolicy) => ExpressMiddleware {
  checkArguments('expressProtection', { toolServer }, TOOL_SERVER);
  return (given) => {
    checkArguments('protect', given, optionsOf(PROTECT));
    const { name, approval, ...policy } = given;
    checkApprovalKey('protect', toolServer, approval);
    return guard(toolServer, toolServer.policy(policy), (request) => name ?? routeOf(request), approval);
  };
}

/**
 * The last middleware of an app: it refuses as `unknown_route` each request that no route answered. No request reaches a
 * route that is added after it.
 *
 * @example
 * ```ts
 * import { refuseUnknownRoutes } from '@mandate/tool-server/express';
 *
 * app.get('/issues', protect({ scope: ['jira:read'] }), (_, response) => response.send('All issues'));
 * app.use(refuseUnknownRoutes(toolServer));
 * ```
 */
export function refuseUnknownRoutes(toolServer: ToolServer): ExpressMiddleware {
  checkArguments('refuseUnknownRoutes', { toolServer }, TOOL_SERVER);
  return guard(toolServer, 'unknown_route', () => null);
}

function guard(
  toolServer: ToolServer,
  policy: AccessRequest['policy'],
  nameOf: (request: IncomingMessage) => string | null,
  describe?: DescribeCall<HttpCall>,
): ExpressMiddleware {
  return (request: IncomingMessage & Routed, response, next) => {
    checkMiddleware('The middleware', request, response, next);
    const target = request.originalUrl ?? request.url ?? '';
    const approval = describe && httpApproval(toolServer, describe, { request, target, reader: callReader(request) });
    const authorization = authorizationHeaders(request.rawHeaders, request.headers);
    toolServer
      .authorize({
        authorization,
        route: nameOf(request),
        policy,
        headers: request.headers,
        ...(approval && { approval: approval.check }),
      })
      .then((access) => {
        // Other middleware, for example a timeout, has already answered. The handler must not run.
        if (response.headersSent) return;
        if (access.kind === 'refused') {
          // The unread rest of the body would precede the next request.
          if (access.status === 413) response.setHeader('Connection', 'close');
          answerRefusal(response, access);
          return;
        }
        if (approval !== undefined) request.body = approval.body()?.value;
        keepClaims(request, access.claims);
        next();
      })
      .catch(next);
  };
}

/**
 * The pattern of the route within its router, never the URL. The router's mount path is left out, because Express keeps
 * that part of the URL, but not its pattern.
 */
function routeOf(request: IncomingMessage & Routed): string | null {
  const path = request.route?.path;
  return path === undefined ? null : `${request.method} ${String(path)}`;
}
