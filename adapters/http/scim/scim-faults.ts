/** Faults in SCIM's shape (RFC 7644 §3.12). */

import type { FaultAnswers } from '../message/faults.ts';
import { DATABASE_RETRY_AFTER } from '../message/faults.ts';
import { answerScimError } from './answers.ts';

export const scimFaults: FaultAnswers = {
  unavailable(response) {
    response.set('Retry-After', String(DATABASE_RETRY_AFTER));
    const detail = 'The service could not reach its database. Send the request again.';
    answerScimError(response, { status: 503, detail, reason: 'storage_unavailable' });
  },
  malformedPath: (response) =>
    answerScimError(response, { status: 400, detail: 'The path is not well-formed.', reason: 'malformed_path' }),
  fault: (response) =>
    answerScimError(response, { status: 500, detail: 'The service met an unexpected condition.', reason: 'fault' }),
};
