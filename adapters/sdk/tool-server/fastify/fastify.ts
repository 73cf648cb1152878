/**
 * What `mandate/tool-server/fastify` offers: a plugin that lets nobody through to a route without a policy. A route's
 * policy is `mandate` in its `config`; routes that need none are listed by name.
 */

import type { FastifyInstance, FastifyPluginAsync, FastifyReply, RouteOptions } from 'fastify';
import { authorizationHeaders } from '../core/bearer-token.ts';
import type { TaskTokenClaims } from '../core/claims.ts';
import type { ToolServer } from '../core/create-tool-server.ts';
import type { EnforcedPolicy, RoutePolicy } from '../core/policy.ts';
import type { Refusal } from '../core/refusal.ts';
import { keepClaims } from '../core/request-claims.ts';

export { claimsOf } from '../core/request-claims.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a task token needs for this route. */
    mandate?: RoutePolicy;
  }
  interface FastifyRequest {
    /** For whom this request is, and who acts; null on an open route. `claimsOf` gives it where it can't be null. */
    mandate: TaskTokenClaims | null;
  }
}

export interface FastifyProtectionOptions {
  readonly toolServer: ToolServer;
  /** Routes that anybody may call, by method and pattern: `GET /healthz`. An open GET is open for HEAD as well. */
  readonly open?: readonly string[];
}

const protection: FastifyPluginAsync<FastifyProtectionOptions> = async (app, { toolServer, open = [] }) => {
  refuseEarlierRoutes(app);
  const isOpen = openRoutes(open);
  const policies = new WeakMap<RoutePolicy, EnforcedPolicy>();

  app.decorateRequest('mandate', null);

  // A policy that can't be kept is known when the server starts, not when somebody calls.
  app.addHook('onRoute', ({ method, url, config }: RouteOptions) => {
    const policy = config?.mandate;
    if (policy === undefined) return;
    const names = [method].flat().map((one) => `${one} ${url}`);
    const contradicted = names.find(isOpen);
    if (contradicted !== undefined)
      throw new TypeError(`The route ${contradicted} has a policy and is listed as open.`);
    policies.set(policy, toolServer.policy(policy));
  });

  // Before the body is read, and for routes that don't exist as well.
  app.addHook('onRequest', async (request, reply) => {
    const pattern = request.is404 ? undefined : request.routeOptions.url;
    const route = pattern === undefined ? null : `${request.method} ${pattern}`;
    if (route !== null && isOpen(route)) return;
    const given = request.is404 ? undefined : request.routeOptions.config.mandate;
    const policy = (given && policies.get(given)) ?? 'unknown_route';
    const authorization = authorizationHeaders(request.raw.rawHeaders);
    const access = await toolServer.authorize({ authorization, route, policy });
    if (access.kind === 'refused') return answer(reply, access);
    keepClaims(request, access.claims);
    request.mandate = access.claims;
  });
};

/** Not encapsulated: what it adds is there for the whole instance it is registered on, and all that is below. */
export const mandateProtection: FastifyPluginAsync<FastifyProtectionOptions> = Object.assign(protection, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'mandate',
  [Symbol.for('plugin-meta')]: { name: 'mandate', fastify: '5.x' },
});

/** Hooks don't reach into plugins that were loaded before, whose routes would then be open to anybody. */
function refuseEarlierRoutes(app: FastifyInstance): void {
  if (app.printRoutes() !== NO_ROUTES) {
    throw new Error('Register the protection first, and wait for it: there are routes already.');
  }
}

/** What Fastify prints of a server without routes. */
const NO_ROUTES = '(empty tree)';

function openRoutes(open: readonly string[]): (route: string) => boolean {
  const malformed = open.find((route) => !/^[A-Z]+ (\/|\*)/.test(route));
  if (malformed !== undefined)
    throw new TypeError(`An open route is a method and a pattern, GET /healthz: ${malformed}`);
  const routes = new Set(open);
  return (route) => routes.has(route) || (route.startsWith('HEAD ') && routes.has(route.replace('HEAD', 'GET')));
}

/** A text, not an object: a route's schema for its answers may leave out what it does not know. */
function answer(reply: FastifyReply, { status, headers, body }: Refusal): FastifyReply {
  return reply
    .code(status)
    .headers({ ...headers, 'Cache-Control': 'no-store', 'Content-Type': 'application/json; charset=utf-8' })
    .send(JSON.stringify(body));
}
