/** Finds what the guard's file says about a request. */

import type { DescribeSentCall, HttpCall } from '../core/approval-text.ts';
import type { AccessRequest, ToolServer } from '../core/tool-server.ts';
import type { GuardConfiguration } from './configuration.ts';
import { describeRequest } from './described-call.ts';
import { comparable, matchesRoute } from './route-match.ts';

/** `open`, or what the tool server decides about. */
export type FoundRoute = 'open' | DecidedRoute;

interface DecidedRoute extends Pick<AccessRequest, 'route' | 'policy'> {
  /** Describes a request that a person has to approve. Only the mode `proxy` has such routes. */
  readonly describe?: DescribeSentCall<HttpCall>;
}

export const MALFORMED: FoundRoute = { route: null, policy: 'malformed_request' };
export const UNKNOWN: FoundRoute = { route: null, policy: 'unknown_route' };

/** @returns the first match of routes, then of what is open. Its path is that of `pathOfTarget` */
export function guardRoutes(
  toolServer: Pick<ToolServer, 'policy'>,
  { routes, open }: Pick<GuardConfiguration, 'routes' | 'open'>,
): (method: string, path: string) => FoundRoute {
  const guarded = routes.map(({ match, approval, ...policy }) => ({
    match,
    found: {
      route: match.pattern,
      policy: toolServer.policy(policy),
      ...(approval && { describe: describeRequest(approval) }),
    },
  }));
  return (method, sent) => {
    const path = comparable(sent);
    return (
      guarded.find(({ match }) => matchesRoute(match, method, path))?.found ??
      (open.some((match) => matchesRoute(match, method, path)) ? 'open' : UNKNOWN)
    );
  };
}
