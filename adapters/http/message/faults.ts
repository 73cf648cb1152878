/**
 * Answers for errors that a router throws: the database is unavailable, a path cannot be decoded, or a bug. Each surface
 * supplies the shape of its answers.
 */

import type { ErrorRequestHandler, Request, Response } from 'express';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { type Log, traceFields } from '../../../application/ports/telemetry.ts';
import type { ServedRequest } from '../server/message-classes.ts';
import { discardRest } from './body.ts';

export interface FaultAnswers {
  /** 503, with Retry-After. */
  unavailable(response: Response): void;
  /** 400; for surfaces with parameters in their paths. */
  malformedPath?(response: Response): void;
  /** 500, and no detail. */
  fault(response: Response): void;
}

/** If the answer has already begun, express ends the connection. */
export function faultHandler(log: Log, answers: FaultAnswers): ErrorRequestHandler {
  return (error: unknown, request: Request & ServedRequest, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
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

/** The router's error for a percent-encoding that is not UTF-8; no other URIError has a status. */
function isUndecodablePath(error: unknown): boolean {
  return error instanceof URIError && 'status' in error && error.status === 400;
}

/** Retry-After, in seconds, if the database did not answer (specification "OAuth error bodies"). */
export const DATABASE_RETRY_AFTER = 5;

/** Retry-After, in seconds, if the service is at capacity (specification "Overload"). */
export const CAPACITY_RETRY_AFTER = 1;

/** Retry-After, in seconds, if a change of an agent conflicted with other changes. */
export const CONFLICT_RETRY_AFTER = 1;
