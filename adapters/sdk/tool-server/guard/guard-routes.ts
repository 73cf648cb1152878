/** Finds what the guard's file says about a request. */

import type { AccessRequest, ToolServer } from '../core/tool-server.ts';
import { callRules } from './call-rules.ts';
import type { GuardConfiguration } from './configuration.ts';
import { describeRequest } from './described-call.ts';
import type { CallPolicy } from './route-call.ts';
import { comparable, matchesRoute } from './route-match.ts';

/** `open`, or what the tool server decides about. */
export type FoundRoute = 'open' | DecidedRoute;

/** Only the mode `proxy` has routes whose body decides. */
interface DecidedRoute extends Pick<AccessRequest, 'route' | 'policy'>, CallPolicy {}

export const MALFORMED: FoundRoute = { route: null, policy: 'malformed_request' };
export const UNKNOWN: FoundRoute = { route: null, policy: 'unknown_route' };

/** @returns the first match of routes, then of what is open. Its path is that of `pathOfTarget` */
export function guardRoutes(
  toolServer: Pick<ToolServer, 'policy'>,
  { routes, open, compileSchema }: Pick<GuardConfiguration, 'routes' | 'open' | 'compileSchema'>,
): (method: string, path: string) => FoundRoute {
  const guarded = routes.map(({ match, approval, arguments: schema, ...policy }) => {
    const rules = callRules(approval, schema, compileSchema);
    const { checkArguments } = rules;
    const describe = approval && describeRequest(approval, rules);
    return { match, found: { route: match.pattern, policy: toolServer.policy(policy), describe, checkArguments } };
  });
  return (method, sent) => {
    const path = comparable(sent);
    return (
      guarded.find(({ match }) => matchesRoute(match, method, path))?.found ??
      (open.some((match) => matchesRoute(match, method, path)) ? 'open' : UNKNOWN)
    );
  };
}
