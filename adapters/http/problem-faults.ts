/** What nobody can answer for, in problem details: the database gone (503), a path that is no text (400), a bug (500). */

import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { Log } from '../../application/ports/log.ts';
import { StorageUnavailable } from '../../application/ports/storage-unavailable.ts';
import { discardRest } from './body.ts';
import { answerProblem } from './problem-details.ts';
import { DATABASE_RETRY_AFTER } from './retry-after.ts';

export function answerFaults(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    discardRest(request);
    if (error instanceof StorageUnavailable) {
      log.error('the database could not answer', error);
      response.set('Retry-After', String(DATABASE_RETRY_AFTER));
      answerProblem(response, {
        status: 503,
        error: 'temporarily_unavailable',
        detail: 'The service could not reach its database. Retry the request.',
        reason: 'storage_unavailable',
      });
      return;
    }
    if (isUndecodablePath(error)) {
      answerProblem(response, { status: 400, detail: 'The path is not well-formed.', reason: 'malformed_path' });
      return;
    }
    log.error('a request failed', error);
    answerProblem(response, { status: 500, reason: 'fault' });
  };
}

/** The router's own refusal of a percent-encoding that is no UTF-8: it alone puts a status on a URIError. */
function isUndecodablePath(error: unknown): boolean {
  return error instanceof URIError && 'status' in error && error.status === 400;
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
