/** What is no surface's business, in problem details: faults, unknown paths, methods that a path does not have. */

import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import { discardRest } from './body.ts';
import { DATABASE_RETRY_AFTER, type FaultAnswers, faultHandler } from './faults.ts';
import { answerProblem } from './problem-details.ts';

const answers: FaultAnswers = {
  unavailable(response) {
    response.set('Retry-After', String(DATABASE_RETRY_AFTER));
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
  return faultHandler(log, answers);
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
