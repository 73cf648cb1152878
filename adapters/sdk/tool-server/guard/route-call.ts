/**
 * A request at a route of the proxy whose body decides: by `arguments` of the file, and by an approval. The library reads the
 * body once, and the upstream gets the same bytes.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Objection } from '../core/access-request.ts';
import type { DescribeSentCall, HttpCall } from '../core/approval-text.ts';
import type { TaskTokenClaims } from '../core/claims.ts';
import type { Release } from '../core/held-bodies.ts';
import { type CallBody, callReader, httpApproval } from '../core/http-approval.ts';
import { type RefusalReason, RefusedCall } from '../core/refusal.ts';
import type { AccessRequest, ToolServer } from '../core/tool-server.ts';
import type { CheckArguments } from './call-rules.ts';
import { asReadExactly } from './misread-parts.ts';
import { closingIfLate, hasBody, inviteBody, isUtf8 } from './request-body.ts';

interface RouteCall extends Pick<AccessRequest, 'objection' | 'approval'> {
  /** What was read; `undefined` without a body. */
  bytes(): Buffer | undefined;
  /** Gives back the permit of the body, if there is one. */
  release(): void;
}

export interface CallPolicy {
  /** Describes a request that a person has to approve. */
  readonly describe?: DescribeSentCall<HttpCall> | undefined;
  readonly checkArguments?: CheckArguments | undefined;
}

const NO_BODY = new RefusedCall('The call has no body.');

export function routeCall(
  toolServer: ToolServer,
  { describe, checkArguments }: CallPolicy,
  {
    request,
    response,
    hold,
  }: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly hold: (claims: TaskTokenClaims) => Release | undefined;
  },
): RouteCall {
  let release: Release | undefined;
  const reader = callReader(request);
  const read = async (claims: TaskTokenClaims): Promise<CallBody | RefusalReason> => {
    if (reader.body() !== undefined) return reader.read();
    if (!isUtf8(request)) return 'malformed_body';
    if (hasBody(request)) {
      release = hold(claims);
      if (release === undefined) return 'overloaded';
    }
    inviteBody(request, response);
    return closingIfLate(request, reader.read());
  };
  const objection = async (claims: TaskTokenClaims): Promise<Objection> => {
    const body = await read(claims);
    if (typeof body === 'string') return body;
    const { value } = body;
    if (value === undefined) return NO_BODY;
    return checkArguments?.(value, (body.mayBeRounded() ? body.sent() : undefined) ?? asReadExactly(value));
  };
  const approval = describe && httpApproval(toolServer, describe, { request, target: request.url ?? '', reader });
  return {
    ...(checkArguments && { objection }),
    ...(approval && {
      async approval(claims) {
        const body = await read(claims);
        return typeof body === 'string' ? body : closingIfLate(request, approval.check(claims));
      },
    }),
    bytes: () => (hasBody(request) ? reader.body()?.bytes : undefined),
    release: () => release?.(),
  };
}
