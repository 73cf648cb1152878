/** Turns outcomes into OAuth responses: status, headers and body (RFC 6749 §5; specification "OAuth error bodies"). */

import type { AskedApproval } from '../../../application/approvals/ask.ts';
import type { Denial } from '../../../application/outcome.ts';
import type { IssuedOffer } from '../../../application/token/hand-over.ts';
import type { IntrospectedToken } from '../../../application/token/introspect.ts';
import type { IssuedToken } from '../../../application/token/mint.ts';
import { approvalUri, POLL_INTERVAL_SECONDS } from '../../../domain/approvals/approval.ts';
import { describeDenial, type OAuthError } from '../../../domain/denial.ts';
import { toShortText } from '../../../domain/instant.ts';
import { formatScope } from '../../../domain/scope.ts';
import { CAPACITY_RETRY_AFTER, DATABASE_RETRY_AFTER } from '../message/faults.ts';
import type { ServedResponse } from '../server/message-classes.ts';

const STATUS: Partial<Record<OAuthError, number>> = {
  invalid_client: 401,
  temporarily_unavailable: 503,
  slow_down: 429,
};
/** Only these errors also have a `reason`: clients must distinguish them (supplement "Token endpoint"). */
const TELLS_REASON: OAuthError = 'access_denied';
/** The error that makes the client of a person ask the person again. It then has a `reason` too. */
const ASKS_AGAIN: OAuthError = 'invalid_grant';

export function answerDenial(response: ServedResponse, denial: Denial): void {
  const { error: usual, sentence } = describeDenial(denial.reason);
  const error = denial.isOfPersonsStart && usual === TELLS_REASON ? ASKS_AGAIN : usual;
  const tellsReason = error === TELLS_REASON || (denial.isOfPersonsStart && error === ASKS_AGAIN);
  response.reason = denial.reason;
  // RFC 6749 §5.2: only a client that sent an Authorization header gets a WWW-Authenticate challenge.
  const authorization = response.req.headers.authorization;
  if (error === 'invalid_client' && authorization !== undefined) {
    const scheme = /^basic /i.test(authorization) ? 'Basic' : 'Bearer';
    response.setHeader('WWW-Authenticate', `${scheme} realm="mandate"`);
  }
  if (error === 'temporarily_unavailable') response.setHeader('Retry-After', CAPACITY_RETRY_AFTER);
  if (denial.reason === 'too_many_pending') response.setHeader('Retry-After', POLL_INTERVAL_SECONDS);
  if (denial.retryAfter !== undefined) response.setHeader('Retry-After', denial.retryAfter);
  sendJson(response, statusOf(error), {
    error,
    error_description: denial.detail ?? sentence,
    ...(tellsReason ? { reason: denial.reason } : {}),
  });
}

export function statusOf(error: OAuthError): number {
  return STATUS[error] ?? 400;
}

/** Supplement "Token endpoint": no answer may be cached. */
export function neverCached(response: ServedResponse): void {
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Pragma', 'no-cache');
}

export function sendJson(response: ServedResponse, status: number, body: Record<string, unknown>): void {
  const text = JSON.stringify(body);
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

/** Answers 200 without a body. @param reason a fixed word for the log */
export function answerNothing(response: ServedResponse, reason: string): void {
  response.reason = reason;
  response.end();
}

/** @param issuedType `issued_token_type` (RFC 8693 §2.2.1) */
export function answerIssued(response: ServedResponse, token: IssuedToken, issuedType: string): void {
  sendJson(response, 200, {
    access_token: token.accessToken,
    issued_token_type: issuedType,
    token_type: 'Bearer',
    expires_in: token.expiresIn,
    scope: formatScope(token.scope),
    refresh_token: token.refreshToken,
    task_id: token.taskId,
    task_expires_at: toShortText(token.taskExpiresAt),
  });
}

/** @param issuedType `issued_token_type`. RFC 8693 §2.2.1: an offer is no access token, so its `token_type` is `N_A` */
export function answerOffer(response: ServedResponse, issued: IssuedOffer, issuedType: string): void {
  sendJson(response, 200, {
    access_token: issued.offer,
    issued_token_type: issuedType,
    token_type: 'N_A',
    expires_in: issued.expiresIn,
    scope: formatScope(issued.scope),
  });
}

/** Specification "Introspection response". For an inactive token it says at most why the token ended. */
export function answerIntrospection(response: ServedResponse, outcome: IntrospectedToken): void {
  if (outcome.kind === 'mismatch') response.reason = 'token_mismatch';
  sendJson(response, 200, introspectionBody(outcome));
}

function introspectionBody(outcome: IntrospectedToken): Record<string, unknown> {
  switch (outcome.kind) {
    case 'active':
      return { active: true, ...outcome.token.claims.json, task_id: outcome.token.taskId };
    case 'inactive':
    case 'mismatch':
      return { active: false };
    case 'revoked':
      return {
        active: false,
        revoked_at: toShortText(outcome.revocation.at),
        revocation_reason: outcome.revocation.reason,
      };
    case 'agent_disabled':
    case 'ancestor_disabled':
      return { active: false, revocation_reason: outcome.kind };
  }
}

/** Says what the tool server may do. The agent gets none of it but the address for its person. */
export function answerApproval(response: ServedResponse, approval: AskedApproval, issuer: string): void {
  response.reason = approval.kind;
  sendJson(response, 200, approvalBody(approval, issuer));
}

function approvalBody(approval: AskedApproval, issuer: string): Record<string, unknown> {
  const { kind: state } = approval;
  switch (approval.kind) {
    case 'pending':
      return {
        state,
        approval_id: approval.approvalId,
        approval_uri: approvalUri(issuer, approval.approvalId),
        expires_in: approval.expiresIn,
        interval: POLL_INTERVAL_SECONDS,
      };
    case 'granted':
      return { state, approval_id: approval.approvalId, approved_at: toShortText(approval.approvedAt) };
    case 'refused':
      return approval.says === undefined ? { state } : { state, person_says: approval.says };
    default:
      return { state };
  }
}

/** Answers 405 in OAuth's format. */
export function answerMethod(response: ServedResponse): void {
  response.setHeader('Allow', 'POST');
  sendJson(response, 405, {
    error: 'invalid_request',
    error_description: 'This endpoint answers POST only.',
  });
}

/** Answers 503: the database did not answer, so the request is neither granted nor denied. */
export function answerUnavailable(response: ServedResponse): void {
  response.reason = 'storage_unavailable';
  response.setHeader('Retry-After', DATABASE_RETRY_AFTER);
  sendJson(response, 503, {
    error: 'temporarily_unavailable',
    error_description: 'The service could not reach its database. Retry the request.',
  });
}

export function answerFault(response: ServedResponse): void {
  response.reason = 'fault';
  sendJson(response, 500, {
    error: 'server_error',
    error_description: 'The service met an unexpected condition.',
  });
}
