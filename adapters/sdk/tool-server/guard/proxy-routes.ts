/**
 * The routes of the proxy. A server can answer more paths than `mcp.path` as its MCP endpoint: in other letter case, with a
 * slash at the end, or below it. There a tool would be called under the policy of a wildcard. So only a pattern that names
 * such a path allows it.
 */

import type { ToolServer } from '../core/tool-server.ts';
import { type FoundRoute, guardRoutes } from './guard-routes.ts';
import type { ProxyConfiguration } from './read-configuration.ts';

export function proxyRoutes(
  toolServer: Pick<ToolServer, 'policy'>,
  { routes, open, mcp }: Pick<ProxyConfiguration, 'routes' | 'open' | 'mcp'>,
): (method: string, path: string) => FoundRoute {
  const everywhere = guardRoutes(toolServer, { routes, open });
  if (mcp === undefined) return everywhere;
  const endpoint = careless(mcp.path);
  const isThere = (path: string) => `${careless(path)}/`.startsWith(`${endpoint}/`);
  const there = guardRoutes(toolServer, {
    routes: routes.filter(({ match }) => isThere(match.path)),
    open: open.filter(({ path }) => isThere(path)),
  });
  return (method, path) => (isThere(path) ? there : everywhere)(method, path);
}

/** The path as the most careless server compares it: without escapes, letter case, parameters and a slash at the end. */
function careless(path: string): string {
  return decodeURIComponent(path)
    .toLowerCase()
    .replaceAll(/;[^/]*/g, '')
    .replace(/\/+$/, '');
}
