/**
 * The exports of `@mandate/tool-server/fastify`: a plugin that refuses every request to a route without a policy. A
 * route's policy is `mandate` in its `config`. The option `open` lists routes that need no token.
 */

import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import type { FastifyInstance, FastifyPluginAsync, FastifyReply, RouteOptions } from 'fastify';
import { anything, type Checks, checkArguments, listOf, must, optional, optionsOf } from '../../arguments.ts';
import { authorizationHeaders } from '../core/bearer-token.ts';
import { keepClaims, type TaskTokenClaims } from '../core/claims.ts';
import {
  APPROVAL,
  callReader,
  checkApprovalKey,
  type HttpApproval,
  type HttpRoutePolicy,
  httpApproval,
} from '../core/http-approval.ts';
import { toolServerMade } from '../core/options.ts';
import { type EnforcedPolicy, POLICY } from '../core/policy.ts';
import type { Refusal } from '../core/refusal.ts';
import type { ToolServer } from '../core/tool-server.ts';

export type { DescribeCall, HttpCall } from '../core/approval-text.ts';
export { claimsOf } from '../core/claims.ts';
export type { HttpRoutePolicy } from '../core/http-approval.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The policy of this route. */
    mandate?: HttpRoutePolicy;
  }
  interface FastifyRequest {
    /** The verified claims: the person and the agent. Null on an open route. `claimsOf` never returns null. */
    mandate: TaskTokenClaims | null;
  }
}

export interface FastifyProtectionOptions {
  readonly toolServer: ToolServer;
  /** Routes without a token check, by method and pattern, for example `GET /healthz`. An open GET also opens HEAD. */
  readonly open?: readonly string[];
}

const OPTIONS = optionsOf({
  toolServer: toolServerMade,
  open: optional(
    listOf(
      must('be a method and a pattern, such as GET /healthz', (value) => {
        return typeof value === 'string' && /^[A-Z]+ (\/|\*)/.test(value);
      }),
    ),
  ),
  // Options of Fastify's `register`, which it passes on to every plugin.
  prefix: anything,
  logLevel: anything,
  logSerializers: anything,
});

const protection: FastifyPluginAsync<FastifyProtectionOptions> = async (app, options) => {
  checkArguments('mandateProtection', options, OPTIONS);
  const { toolServer, open = [] } = options;
  refuseEarlierRoutes(app);
  const isOpen = openRoutes(open);
  const policies = new WeakMap<HttpRoutePolicy, EnforcedPolicy>();
  /** The bodies that requests for approval have read. */
  const approved = new WeakMap<object, HttpApproval>();

  app.decorateRequest('mandate', null);

  // An invalid policy fails when the server starts, not at the first request.
  app.addHook('onRoute', ({ method, url, config, constraints = {} }: RouteOptions) => {
    const policy = config?.mandate;
    if (policy === undefined) return;
    const names = [method].flat().map((one) => `${one} ${url}`);
    const contradicted = names.find(isOpen);
    if (contradicted !== undefined)
      throw new TypeError(`The route ${contradicted} has a policy and is listed as open.`);
    // toolServer.policy would not name the route.
    const place = `config.mandate of ${names.join(', ')}`;
    checkArguments(place, policy, optionsOf({ ...POLICY, approval: APPROVAL } satisfies Checks<HttpRoutePolicy>));
    const { approval, ...checked } = policy;
    checkApprovalKey(place, toolServer, approval);
    if (approval !== undefined && Object.keys(constraints).length > 0) {
      throw new TypeError(
        `${place}: a route with approval has no constraints. They choose it by headers, not by the call.`,
      );
    }
    policies.set(policy, toolServer.policy(checked));
  });

  // Runs before the body is read. Runs also for routes that do not exist.
  app.addHook('onRequest', async (request, reply) => {
    const pattern = request.is404 ? undefined : request.routeOptions.url;
    const route = pattern === undefined ? null : `${request.method} ${pattern}`;
    if (route !== null && isOpen(route)) return;
    const given = request.is404 ? undefined : request.routeOptions.config.mandate;
    const policy = (given && policies.get(given)) ?? 'unknown_route';
    const authorization = authorizationHeaders(request.raw.rawHeaders, request.raw.headers);
    const approval =
      given?.approval &&
      httpApproval(toolServer, given.approval, {
        request: request.raw,
        target: request.originalUrl,
        reader: callReader(request.raw, request.routeOptions.bodyLimit),
      });
    const access = await toolServer.authorize({
      authorization,
      route,
      policy,
      headers: request.raw.headers,
      ...(approval && { approval: approval.check }),
    });
    if (access.kind === 'refused') {
      answer(reply, access);
      // This promise never settles, so Fastify runs no further hook and no handler. A returned reply settles also when the
      // client hangs up while an onSend hook waits; Fastify then runs the handler.
      return new Promise<never>(() => undefined);
    }
    if (approval !== undefined) approved.set(request, approval);
    keepClaims(request, access.claims);
    request.mandate = access.claims;
  });

  // The approval has read the body. Fastify parses the same bytes, and checks the result against the route's schema.
  app.addHook('preParsing', async (request, _reply, payload) => {
    const bytes = approved.get(request)?.body()?.bytes;
    return bytes === undefined ? payload : Readable.from([bytes], { objectMode: false });
  });

  // The handler gets the value that the person approved. The schema's check, a parser or a hook may have changed Fastify's
  // value: the handler relies on that, and the person has not approved it.
  app.addHook('preHandler', async (request) => {
    const approval = approved.get(request);
    if (approval === undefined) return;
    const value = approval.body()?.value;
    if (request.body !== undefined && !isDeepStrictEqual(request.body, value)) throw changedBody();
    request.body = value;
  });
};

/**
 * Not encapsulated: its hooks apply to the instance on which it is registered, and to all nested plugins.
 *
 * @example
 * ```ts
 * import { claimsOf, mandateProtection } from '@mandate/tool-server/fastify';
 *
 * await server.register(mandateProtection, { toolServer, open: ['GET /healthz'] });
 * server.get('/healthz', () => 'Healthy');
 * server.get('/issues', { config: { mandate: { scope: ['jira:read'] } } }, (request) => {
 *   return `Issues for ${claimsOf(request).sub}`;
 * });
 * ```
 */
export const mandateProtection: FastifyPluginAsync<FastifyProtectionOptions> = Object.assign(protection, {
  [Symbol.for('skip-override')]: true,
  [Symbol.for('fastify.display-name')]: 'mandate',
  [Symbol.for('plugin-meta')]: { name: 'mandate', fastify: '5.x' },
});

/** Answered as a body that the schema refuses. */
function changedBody(): Error {
  const message =
    'The schema, a parser or a hook of the route changes this body, which a person has approved as it is.';
  return Object.assign(new Error(message), { statusCode: 400 });
}

/** Hooks do not apply to routes that exist already, so those would be unprotected. @throws Error if there are any */
function refuseEarlierRoutes(app: FastifyInstance): void {
  if (app.printRoutes() !== NO_ROUTES) {
    throw new Error('Register the protection first, and wait for it: there are routes already.');
  }
}

/** What Fastify's `printRoutes()` returns for a server without routes. */
const NO_ROUTES = '(empty tree)';

function openRoutes(open: readonly string[]): (route: string) => boolean {
  const routes = new Set(open);
  return (route) => routes.has(route) || (route.startsWith('HEAD ') && routes.has(route.replace('HEAD', 'GET')));
}

/** Sends text, not an object, because the route's response schema could drop members of an object. */
function answer(reply: FastifyReply, { status, headers, body }: Refusal): void {
  // The unread rest of the body would precede the next request.
  if (status === 413) reply.header('Connection', 'close');
  reply
    .code(status)
    .headers({ ...headers, 'Cache-Control': 'no-store', 'Content-Type': 'application/json; charset=utf-8' })
    .send(JSON.stringify(body));
}
