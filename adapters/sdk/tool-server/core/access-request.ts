/** What a server says of a request when it asks for a decision (`authorize` in tool-server.ts), and the check of these arguments. */

import type { IncomingHttpHeaders } from 'node:http';
import { anyObject, type Check, callable, must, optional, optionsOf } from '../../arguments.ts';
import type { ToApprove } from './approval-text.ts';
import type { TaskTokenClaims } from './claims.ts';
import type { EnforcedPolicy } from './policy.ts';
import type { RefusalReason, RefusedCall } from './refusal.ts';

export type AccessRequest = {
  /** The route's pattern or the tool's name, for the event. Never a URL: its query may hold a secret. */
  readonly route: string | null;
  /**
   * The policy, or the reason to refuse a verified token because there is no policy. `malformed_request` refuses the request
   * before its token is read: nothing says which route it is for.
   */
  readonly policy: EnforcedPolicy | Unmatched;
  /** The headers of the request, for `startSpan`: requests that this one causes belong to its trace. */
  readonly headers?: IncomingHttpHeaders;
  /**
   * An extra check of the caller's: a reason refuses the request. It runs after the checks of token and policy, and before the
   * control plane is asked.
   */
  readonly objection?: (claims: TaskTokenClaims) => Objection | Promise<Objection>;
  /**
   * The caller's last check, for a request that all other checks allow, including introspection. Only the approval comes
   * later: an allowed request uses it up. A reason that it returns refuses the request. An error refuses it as
   * `policy_unavailable`, and goes to `onError`, so it must hold no arguments.
   */
  readonly lastCheck?: (claims: TaskTokenClaims) => Promise<Objection>;
  /**
   * Describes the call that the person has to approve, or returns a reason to refuse it. It runs after all other checks,
   * except introspection: the control plane's answer to the request for approval replaces that. After `not_needed` the status
   * list and introspection decide, as without it. An error is treated as that of `lastCheck`.
   */
  readonly approval?: (claims: TaskTokenClaims) => Promise<ToApprove>;
  /**
   * Reads from the body what the request asks for. Its answer replaces `route`, `policy`, `lastCheck` and `approval`. It runs
   * after the check of the token (signature, issuer, audience, times), so the body of a stranger stays unread. A reason that
   * it returns refuses the request.
   */
  readonly asks?: (claims: TaskTokenClaims) => Promise<AskedFor | RefusalReason>;
} & (
  | {
      /** The values of all Authorization headers. More than one is refused. See `authorizationHeaders`. */
      readonly authorization: string | readonly string[] | undefined;
    }
  | {
      /** The bearer token, if the caller has already read the header. */
      readonly token: string | undefined;
    }
);

/** What the body of a request asks for. */
export interface AskedFor {
  readonly route: string | null;
  readonly policy: EnforcedPolicy | Unmatched;
  readonly lastCheck?: (claims: TaskTokenClaims) => Promise<Objection>;
  readonly approval?: (claims: TaskTokenClaims) => Promise<ToApprove>;
}

/** Why a request is refused; `undefined` if it is not. */
export type Objection = RefusalReason | RefusedCall | undefined;

/** In place of a policy. */
type Unmatched = 'unknown_route' | 'unknown_tool' | 'malformed_request';

const authorizationCheck = must('be the text of the Authorization header, or the list of all of them', (value) =>
  [value].flat().every((each) => typeof each === 'string'),
);

const UNMATCHED: ReadonlySet<unknown> = new Set<Unmatched>(['unknown_route', 'unknown_tool', 'malformed_request']);

const REQUEST = optionsOf({
  route: must('be the name of the route, or null', (value) => value === null || typeof value === 'string'),
  policy: must('be a policy of this tool server, unknown_route, unknown_tool or malformed_request', (value) => {
    return (typeof value === 'object' && value !== null) || UNMATCHED.has(value);
  }),
  headers: optional(anyObject),
  objection: optional(callable),
  lastCheck: optional(callable),
  approval: optional(callable),
  asks: optional(callable),
  authorization: optional(authorizationCheck),
  token: optional(must('be the text of the token', (value) => typeof value === 'string')),
});

/** A program that forgot `authorization` would have every request refused as one without a token. */
export const accessRequest: Check = (value, name) => {
  const isNamed = typeof value !== 'object' || value === null || 'authorization' in value || 'token' in value;
  return [...REQUEST(value, name), ...(isNamed ? [] : ['authorization or token must be given'])];
};
