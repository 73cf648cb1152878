/**
 * Answers a request whose handler threw: the database is unavailable, the path cannot be decoded, or there is a bug. Each
 * surface supplies the shape of its answers.
 */

import type { ErrorRequestHandler, Response } from 'express';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { type Log, traceFields } from '../../../application/ports/telemetry.ts';
import type { ServedRequest, ServedResponse } from '../server/message-classes.ts';
import { discardRest } from './body.ts';

export interface FaultAnswers<Answer extends ServedResponse = Response> {
  /** Answers 503 with Retry-After. */
  unavailable(response: Answer): void;
  /** Answers 400. For surfaces with parameters in their paths. */
  malformedPath?(response: Answer): void;
  /** Answers 500 without details. */
  fault(response: Answer): void;
}

/** If the response has already begun, Express closes the connection. */
export function faultHandler(log: Log, answers: FaultAnswers): ErrorRequestHandler {
  const answer = faultAnswer(log, answers);
  return (error: unknown, request, response, next) => {
    if (response.headersSent) next(error);
    else answer(error, request, response);
  };
}

/** Answers a request whose handler threw an error. Logs the error, unless the path could not be decoded. */
export function faultAnswer<Answer extends ServedResponse>(log: Log, answers: FaultAnswers<Answer>) {
  return (error: unknown, request: ServedRequest, response: Answer): void => {
    discardRest(request);
    if (error instanceof StorageUnavailable) {
      log.error('the database could not answer', error, traceFields(request.trace));
      answers.unavailable(response);
      return;
    }
    if (answers.malformedPath !== undefined && isUndecodablePath(error)) {
      answers.malformedPath(response);
      return;
    }
    log.error('a request failed', error, traceFields(request.trace));
    answers.fault(response);
  };
}

/** The router's error for a percent-encoding that is not UTF-8. No other URIError has a status. */
function isUndecodablePath(error: unknown): boolean {
  return error instanceof URIError && 'status' in error && error.status === 400;
}

/** Retry-After in seconds when the database did not answer (specification "OAuth error bodies"). */
export const DATABASE_RETRY_AFTER = 5;

/** Retry-After in seconds when the service is at capacity (specification "Overload"). */
export const CAPACITY_RETRY_AFTER = 1;

/** Retry-After in seconds when a change of an agent conflicted with other changes. */
export const CONFLICT_RETRY_AFTER = 1;
