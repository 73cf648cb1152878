/**
 * The guard in its mode `decide`, and a small gateway in front of a service. As nginx and Caddy do, the gateway asks the guard
 * about each request. It answers with what the service would learn from the headers.
 */

import { createServer } from 'node:http';
import type { ToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import type { GuardConfiguration } from '../../../adapters/sdk/tool-server/guard/configuration.ts';
import { readRouteMatch } from '../../../adapters/sdk/tool-server/guard/route-match.ts';
import { closeServer, listen } from '../listening.ts';
import { AUDIENCE } from './control-plane.ts';
import { type GuardedApp, POLICIES, presentedHeaders } from './guarded-apps.ts';
import { rawRequest } from './raw-request.ts';
import { serveGuard } from './served-guard.ts';

/** The pattern of the guard's file for a route of `POLICIES`. */
export const patternOf = (route: string) => route.replace(/:.*$/, '*');

/** @throws Error if the text is no pattern */
export const matchOf = (pattern: string) => {
  const match = readRouteMatch(pattern);
  if (match === undefined) throw new Error(`${pattern} is no pattern`);
  return match;
};

/** A configuration with the policies of the web frameworks. */
export function decideConfiguration(issuer: string, more: Partial<GuardConfiguration> = {}): GuardConfiguration {
  return {
    issuer,
    audience: AUDIENCE,
    listen: { host: '127.0.0.1', port: 0 },
    routes: Object.entries(POLICIES).map(([route, policy]) => ({ match: matchOf(patternOf(route)), ...policy })),
    open: [matchOf('GET /healthz')],
    origins: new Set(),
    mode: 'decide',
    ...more,
  } as GuardConfiguration;
}

export async function startDecidedApp(toolServer: ToolServer): Promise<GuardedApp> {
  const guard = await serveGuard(toolServer, decideConfiguration(toolServer.issuer));
  const gateway = createServer(async ({ method = '', url = '', rawHeaders }, response) => {
    const pairs = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? [[name, rawHeaders[at + 1] ?? ''] as const] : []));
    const answer = await rawRequest(`${guard.url}/decide`, 'GET', [
      ['X-Original-Method', method],
      ['X-Original-URI', url],
      ...pairs.filter(([name]) => name.toLowerCase() === 'authorization'),
    ]);
    if (answer.status === 204) response.writeHead(200).end(JSON.stringify(presentedHeaders(answer.headers)));
    else {
      for (const name of ['www-authenticate', 'retry-after', 'content-type', 'cache-control']) {
        const value = answer.headers[name];
        if (value !== undefined) response.setHeader(name, value);
      }
      response.writeHead(answer.status).end(answer.body);
    }
  });
  return {
    url: `http://127.0.0.1:${await listen(gateway)}`,
    async stop() {
      await closeServer(gateway);
      await guard.stop();
    },
  };
}
