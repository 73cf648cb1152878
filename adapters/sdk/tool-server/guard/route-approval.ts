/** The approval of a request at a route of the proxy. The library reads its body, and the upstream gets the same bytes. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DescribeSentCall, HttpCall } from '../core/approval-text.ts';
import type { TaskTokenClaims } from '../core/claims.ts';
import { type HttpApproval, httpApproval } from '../core/http-approval.ts';
import type { ToolServer } from '../core/tool-server.ts';
import type { Release } from './held-bodies.ts';
import { hasBody, inTime, inviteBody, isUtf8 } from './request-body.ts';

interface RouteApproval extends Pick<HttpApproval, 'check'> {
  /** What `check` has read; `undefined` without a body. */
  bytes(): Buffer | undefined;
  /** Gives back the permit of the body, if there is one. */
  release(): void;
}

export function routeApproval(
  toolServer: ToolServer,
  describe: DescribeSentCall<HttpCall>,
  request: IncomingMessage,
  response: ServerResponse,
  hold: (claims: TaskTokenClaims) => Release | undefined,
): RouteApproval {
  let release: Release | undefined;
  const { check, body } = httpApproval(toolServer, describe, { request, target: request.url ?? '' });
  return {
    async check(claims) {
      if (!isUtf8(request)) return 'malformed_body';
      if (hasBody(request)) {
        release = hold(claims);
        if (release === undefined) return 'overloaded';
      }
      inviteBody(request, response);
      return inTime(request, check(claims));
    },
    bytes: () => (hasBody(request) ? body()?.bytes : undefined),
    release: () => release?.(),
  };
}
