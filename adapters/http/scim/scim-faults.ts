/** What nobody can answer for, in SCIM's shape: the database gone (503), a path that is no text (400), a bug (500). */

import type { ErrorRequestHandler } from 'express';
import type { Log } from '../../../application/ports/log.ts';
import { StorageUnavailable } from '../../../application/ports/storage-unavailable.ts';
import { discardRest } from '../body.ts';
import { DATABASE_RETRY_AFTER } from '../retry-after.ts';
import { answerScimError } from './answers.ts';

export function answerScimFaults(log: Log): ErrorRequestHandler {
  return (error: unknown, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    discardRest(request);
    if (error instanceof StorageUnavailable) {
      log.error('the database could not answer', error);
      response.set('Retry-After', String(DATABASE_RETRY_AFTER));
      const detail = 'The service could not reach its database. Send the request again.';
      answerScimError(response, { status: 503, detail, reason: 'storage_unavailable' });
      return;
    }
    // The router's own refusal of a percent-encoding that is no UTF-8: it alone puts a status on a URIError.
    if (error instanceof URIError && 'status' in error && error.status === 400) {
      answerScimError(response, { status: 400, detail: 'The path is not well-formed.', reason: 'malformed_path' });
      return;
    }
    log.error('a request failed', error);
    const detail = 'The service met an unexpected condition.';
    answerScimError(response, { status: 500, detail, reason: 'fault' });
  };
}
