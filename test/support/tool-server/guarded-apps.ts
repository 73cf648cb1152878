/** The same small tool server in each web framework, so that one suite tests all frameworks. */

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import express from 'express';
import fastify from 'fastify';
import type { TaskTokenClaims } from '../../../adapters/sdk/tool-server/core/claims.ts';
import type { RoutePolicy } from '../../../adapters/sdk/tool-server/core/policy.ts';
import type { ToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { claimsOf, expressProtection, refuseUnknownRoutes } from '../../../adapters/sdk/tool-server/express/express.ts';
import { claimsOf as fastifyClaimsOf, mandateProtection } from '../../../adapters/sdk/tool-server/fastify/fastify.ts';
import { closeServer, listen } from '../listening.ts';

export interface GuardedApp {
  /** Ends without a slash. */
  readonly url: string;
  stop(): Promise<void>;
}

export interface Framework {
  readonly name: string;
  /** Whether the access event of a refused route without a policy names the pattern of the route. */
  readonly knowsForgotten: boolean;
  start(toolServer: ToolServer): Promise<GuardedApp>;
}

/** The policies, by method and pattern. Each route answers with the claims, which shows that its handler ran. */
export const POLICIES = {
  'GET /issues/:key': { scope: ['jira:read'] },
  'POST /issues/:key/comments': { scope: ['jira:read', 'jira:comment'] },
  'DELETE /issues/:key': { scope: ['jira:read'], highRisk: true },
  'GET /boards/:board': { scope: ['jira:read'], requireActor: false },
  'GET /sprints/:sprint': { scope: ['jira:read'], maxDelegationDepth: 3 },
} as const satisfies Record<string, RoutePolicy>;

export const GUARDED = 'GET /issues/:key';

const expressApp = (name: string, makeApp: typeof express): Framework => ({
  name,
  knowsForgotten: false,
  async start(toolServer) {
    const app = makeApp();
    const protect = expressProtection(toolServer);
    app.get('/healthz', (_, response) => void response.send('Healthy'));
    for (const [route, policy] of Object.entries(POLICIES)) {
      const [method, path = ''] = route.split(' ');
      const add = method === 'POST' ? 'post' : method === 'DELETE' ? 'delete' : 'get';
      app[add](path, protect(policy), (request, response) => void response.json(presented(claimsOf(request))));
    }
    app.use(refuseUnknownRoutes(toolServer));
    app.get('/forgotten', (_, response) => void response.send('This must not be read.'));
    const server = createServer(app);
    return { url: `http://127.0.0.1:${await listen(server)}`, stop: () => closeServer(server) };
  },
});

const fastifyApp: Framework = {
  name: 'Fastify',
  knowsForgotten: true,
  async start(toolServer) {
    const app = fastify({ forceCloseConnections: true });
    await app.register(mandateProtection, { toolServer, open: ['GET /healthz'] });
    app.get('/healthz', async () => 'Healthy');
    for (const [route, policy] of Object.entries(POLICIES)) {
      const [method = '', url = ''] = route.split(' ');
      const handler = async (request: object) => presented(fastifyClaimsOf(request));
      app.route({ method, url, config: { mandate: policy }, handler });
    }
    app.get('/forgotten', async () => 'This must not be read.');
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), stop: () => app.close() };
  },
};

/** There are no types for Express 4 here. The members in use are the same as in Express 5. */
const express4: typeof express = createRequire(import.meta.url)('express4');

export const frameworks: readonly Framework[] = [
  expressApp('Express', express),
  expressApp('Express 4', express4),
  fastifyApp,
];

/** The claims as every app of these answers with them. */
export function presented({ sub, act, chain, scope, task }: TaskTokenClaims): object {
  const actors = chain.map((actor) => actor.sub);
  return { sub, agent: act?.sub ?? null, ...delegatedBy(actors), scope, task: task?.id ?? null };
}

/** The same, from the headers that the guard sets. */
export function presentedHeaders(headers: Readonly<Record<string, unknown>>): object {
  const value = (name: string) => decodeURIComponent(String(headers[`mandate-${name}`]));
  return {
    sub: value('subject'),
    agent: value('agent') || null,
    ...delegatedBy(value('chain').split(' ')),
    scope: value('scope').split(' '),
    task: value('task') || null,
  };
}

/** The chain of a delegated task. */
function delegatedBy(chain: readonly string[]): object {
  return chain.length > 1 ? { chain } : {};
}
