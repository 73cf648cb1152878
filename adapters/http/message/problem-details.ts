/**
 * Problem details (RFC 9457): the shape of every refusal under `/admin` and `/audit`, and for an unknown path
 * (specification "Validation errors"; supplement "Errors elsewhere").
 */

import { STATUS_CODES } from 'node:http';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { OAuthError } from '../../../domain/denial.ts';
import type { FieldError } from '../../../domain/field-error.ts';
import type { ServedResponse } from '../server/message-classes.ts';
import { discardRest } from './body.ts';
import { DATABASE_RETRY_AFTER, type FaultAnswers, faultHandler } from './faults.ts';

/** The error codes of `/me`: of RFC 6750 §3.1 and RFC 9470 §3, and three of this service. */
type MeError =
  | ('missing_token' | 'invalid_token' | 'insufficient_user_authentication')
  | ('invalid_form_token' | 'pause_not_liftable');

interface Problem {
  readonly status: number;
  /** A fixed sentence for a person. */
  readonly detail?: string;
  readonly errors?: readonly FieldError[];
  /** The OAuth error code, for refusals that other surfaces answer in OAuth's format (supplement "Errors elsewhere"). */
  readonly error?: OAuthError | MeError;
  /** The checkpoint that seals an archived record (specification "GET /audit/records/{seq}/proof"). */
  readonly checkpoint?: number;
  /** A fixed word for the log. */
  readonly reason: string;
}

/** Limits the size of the answer to a body with thousands of unknown members. */
const MAX_FIELDS = 100;
/** Longer than all field names of this API. */
const MAX_FIELD_NAME = 128;

export function answerProblem(response: ServedResponse, problem: Problem): void {
  const text = JSON.stringify(problemDocument(problem));
  response.reason = problem.reason;
  response.statusCode = problem.status;
  // RFC 9111 §4.2.2: without it a cache may keep a 404 or 405 as long as it likes, also at a path that soon has an answer.
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Type', 'application/problem+json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

export function problemDocument(problem: Omit<Problem, 'reason'>): Record<string, unknown> {
  return {
    // RFC 9457 §4.2.1: with about:blank the title is the phrase of the status.
    type: 'about:blank',
    title: STATUS_CODES[problem.status] ?? 'Error',
    status: problem.status,
    ...(problem.error === undefined ? {} : { error: problem.error }),
    ...(problem.detail === undefined ? {} : { detail: problem.detail }),
    ...(problem.checkpoint === undefined ? {} : { checkpoint: problem.checkpoint }),
    ...(problem.errors === undefined ? {} : { errors: byField(problem.errors) }),
  };
}

export function answerInvalid(response: ServedResponse, errors: readonly FieldError[]): void {
  const detail = 'Some fields are not acceptable: errors says which and why.';
  answerProblem(response, { status: 400, detail, errors, reason: 'invalid_fields' });
}

/** The sentences of each field. Built from entries, because a request may name a field `__proto__`. */
function byField(errors: readonly FieldError[]): Record<string, readonly string[]> {
  const fields = new Map<string, Set<string>>();
  for (const { field, sentence } of errors) {
    const name = field.length > MAX_FIELD_NAME ? `${field.slice(0, MAX_FIELD_NAME)}…` : field;
    fields.set(name, (fields.get(name) ?? new Set()).add(sentence));
  }
  const reported = [...fields].slice(0, MAX_FIELDS);
  return Object.fromEntries(reported.map(([field, sentences]) => [field, [...sentences]]));
}

export const problemFaults: FaultAnswers<ServedResponse> = {
  unavailable(response) {
    response.setHeader('Retry-After', String(DATABASE_RETRY_AFTER));
    answerProblem(response, {
      status: 503,
      error: 'temporarily_unavailable',
      detail: 'The service could not reach its database. Retry the request.',
      reason: 'storage_unavailable',
    });
  },
  malformedPath: (response) =>
    answerProblem(response, { status: 400, detail: 'The path is not well-formed.', reason: 'malformed_path' }),
  fault: (response) => answerProblem(response, { status: 500, reason: 'fault' }),
};

export function answerFaults(log: Log): ErrorRequestHandler {
  return faultHandler(log, problemFaults);
}

export const unknownPath: RequestHandler = (request, response) => {
  discardRest(request);
  answerProblem(response, { status: 404, detail: 'There is nothing at this path.', reason: 'unknown_path' });
};

export function methodNotAllowed(allow: string): RequestHandler {
  return (request, response) => {
    discardRest(request);
    response.set('Allow', allow);
    answerProblem(response, { status: 405, detail: `This path answers ${allow}.`, reason: 'method_not_allowed' });
  };
}
