/**
 * Problem details (RFC 9457): the shape of every refusal under `/admin` and `/audit`, and for an unknown path
 * (specification "Validation errors"; supplement "Errors elsewhere").
 */

import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { FieldError } from '../../../domain/field-error.ts';
import type { ServedResponse } from '../server/message-classes.ts';
import { type Problem, problemDocument } from '../server/problem-document.ts';
import { discardRest } from './body.ts';
import { DATABASE_RETRY_AFTER, type FaultAnswers, faultHandler } from './faults.ts';

/** Writes the answer to a request. */
export type Answer = (response: Response) => void;

/** @param reason a fixed word for the log */
export function answerProblem(
  response: ServedResponse,
  { reason, ...problem }: Problem & { readonly reason: string },
): void {
  const text = JSON.stringify(problemDocument(problem));
  response.reason = reason;
  response.statusCode = problem.status;
  // RFC 9111 §4.2.2: without it a cache may keep a 404 or 405 for any time, also at a path that exists later.
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('Content-Type', 'application/problem+json; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

export function answerInvalid(response: ServedResponse, errors: readonly FieldError[]): void {
  const detail = 'Some fields are not acceptable: errors says which and why.';
  answerProblem(response, { status: 400, detail, errors, reason: 'invalid_fields' });
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
