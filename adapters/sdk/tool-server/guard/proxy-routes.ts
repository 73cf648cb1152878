/**
 * The routes of the proxy. A server can answer more paths than `mcp.path` as its MCP endpoint: in other letter case, with a
 * slash or `.json` at the end, or below it. There a tool would be called under the policy of a wildcard. So only a pattern
 * that names such a path allows it. A server could also take a path for one of a route with an approval or `arguments`. No
 * later wildcard allows such a path.
 */

import type { ToolServer } from '../core/tool-server.ts';
import { carelessPath } from './careless-path.ts';
import type { ProxyConfiguration } from './configuration.ts';
import { type FoundRoute, guardRoutes, UNKNOWN } from './guard-routes.ts';
import { comparable, matchesRoute, type RouteMatch } from './route-match.ts';

type FindRoute = (method: string, path: string) => FoundRoute;

export function proxyRoutes(
  toolServer: Pick<ToolServer, 'policy'>,
  { routes, open, mcp, compileSchema }: Pick<ProxyConfiguration, 'routes' | 'open' | 'mcp' | 'compileSchema'>,
): FindRoute {
  const everywhere = aroundRules({ routes, open }, guardRoutes(toolServer, { routes, open, compileSchema }));
  if (mcp === undefined) return everywhere;
  const endpoint = carelessPath(mcp.path) ?? '';
  const isThere = (path: string) => isTakenFor(carelessPath(path), endpoint, /^(?:$|[/.])/);
  const there = guardRoutes(toolServer, {
    routes: routes.filter(({ match }) => isThere(match.path)),
    open: open.filter(({ path }) => isThere(path)),
    compileSchema,
  });
  return (method, path) => (isThere(path) ? there : everywhere)(method, path);
}

/** Lets no wildcard allow a path that a server could take for one of an earlier route whose body decides. */
function aroundRules({ routes, open }: Pick<ProxyConfiguration, 'routes' | 'open'>, find: FindRoute): FindRoute {
  const ruled = routes.flatMap(({ match, approval, arguments: schema }, at) =>
    approval === undefined && schema === undefined ? [] : [{ at, match }],
  );
  if (ruled.length === 0) return find;
  const matches = [...routes.map(({ match }) => match), ...open];
  const coverings = ruled.map(({ at, match }) => ({ at, match, covers: coveredBy(match) }));
  return (method, path) => {
    const asked = comparable(path);
    const first = matches.findIndex((match) => matchesRoute(match, method, asked));
    if (matches[first]?.isPrefix !== true) return find(method, path);
    const read = carelessPath(path);
    const isAround = coverings.some(({ at, match, covers }) => at < first && match.method === method && covers(read));
    return isAround ? UNKNOWN : find(method, path);
  };
}

function coveredBy({ path, isPrefix }: RouteMatch): (read: string | undefined) => boolean {
  const named = carelessPath(path) ?? '';
  return (read) => isTakenFor(read, named, isPrefix ? /^\/./ : /^(?:$|\.[^/]*$)/);
}

/**
 * @param read of `carelessPath`
 * @param rest what a server may ignore behind the path, or serve below it
 */
function isTakenFor(read: string | undefined, named: string, rest: RegExp): boolean {
  if (read === undefined) return true;
  return read.startsWith(named) && rest.test(read.slice(named.length));
}
