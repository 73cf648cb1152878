/**
 * What nobody can answer for: the database gone, a path that is no text, a bug. Which of them it was is found out here,
 * once; how each is said is the surface's own.
 */

import type { ErrorRequestHandler, Response } from 'express';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { discardRest } from './body.ts';

export interface FaultAnswers {
  /** 503, with the time to come back. */
  unavailable(response: Response): void;
  /** 400; for surfaces with something in their paths that has to be decoded. */
  malformedPath?(response: Response): void;
  /** 500, and no detail. */
  fault(response: Response): void;
}

/** Where an answer has begun already, the connection is all that can be ended. */
export function faultHandler(log: Log, answers: FaultAnswers): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    discardRest(request);
    if (error instanceof StorageUnavailable) {
      log.error('the database could not answer', error);
      answers.unavailable(response);
      return;
    }
    if (answers.malformedPath !== undefined && isUndecodablePath(error)) {
      answers.malformedPath(response);
      return;
    }
    log.error('a request failed', error);
    answers.fault(response);
  };
}

/** The router's own refusal of a percent-encoding that is no UTF-8: it alone puts a status on a URIError. */
function isUndecodablePath(error: unknown): boolean {
  return error instanceof URIError && 'status' in error && error.status === 400;
}

/** Seconds until a database that did not answer is worth asking again (specification "OAuth error bodies"). */
export const DATABASE_RETRY_AFTER = 5;

/** Seconds until a service at capacity is worth asking again (specification "Overload"). */
export const CAPACITY_RETRY_AFTER = 1;

/** Seconds until a change that lost to other changes of the same agent is worth sending again. */
export const CONFLICT_RETRY_AFTER = 1;
