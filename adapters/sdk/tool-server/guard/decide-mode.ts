/**
 * The mode `decide`: a gateway asks at `/decide` whether a request may pass, and passes it on itself. The gateway reads the
 * status of the answer, and copies headers from it to the request.
 */

import type { ServerResponse } from 'node:http';
import { authorizationHeaders } from '../core/bearer-token.ts';
import { answerRefusal, type Refusal } from '../core/refusal.ts';
import type { ToolServer } from '../core/tool-server.ts';
import type { GuardMode } from './guard-mode.ts';
import { guardRoutes, MALFORMED } from './guard-routes.ts';
import { type IdentityHeaders, identityHeaders } from './identity-headers.ts';
import { originalRequest } from './original-request.ts';
import type { DecideConfiguration } from './read-configuration.ts';

/** Some gateways append the query of the request that they ask about. */
const QUESTION = /^\/decide(?:\?|$)/;

export function decideMode(toolServer: ToolServer, configuration: DecideConfiguration): GuardMode {
  const find = guardRoutes(toolServer, configuration);
  return {
    async answer({ url = '', rawHeaders, headers }, response) {
      const original = QUESTION.test(url) ? originalRequest(rawHeaders) : undefined;
      const found = original === undefined ? MALFORMED : find(original.method, original.path);
      if (found === 'open') {
        allow(response, identityHeaders(undefined));
        return;
      }
      const authorization = authorizationHeaders(rawHeaders, headers);
      const access = await toolServer.authorize({ ...found, authorization, headers });
      if (access.kind === 'refused') answerRefusal(response, forGateway(access));
      else allow(response, identityHeaders(access.claims));
    },
    close: () => Promise.resolve(),
  };
}

function allow(response: ServerResponse, headers: IdentityHeaders): void {
  // A gateway that caches answers would let a later request pass undecided.
  response.writeHead(204, { ...headers, 'Cache-Control': 'no-store' }).end();
}

/** nginx makes a 500 of each refusal but 401 and 403. Others would pass a 400 on, but only this way all do the same. */
function forGateway(refusal: Refusal): Refusal {
  return refusal.status === 400 ? { ...refusal, status: 403 } : refusal;
}
