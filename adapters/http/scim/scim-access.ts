/** The credential of the SCIM receiver (specification "Authentication"): before the path and a byte of the body. */

import type { RequestHandler } from 'express';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { Secret } from '../../../domain/secret.ts';
import { bearerKeys } from '../message/bearer-keys.ts';
import { discardRest } from '../message/body.ts';
import { answerScimError } from './answers.ts';

export interface ScimAccess {
  /** The one in use and, while it is being changed, the one before. */
  readonly credentials: readonly Secret[];
  /** Records the refusal. */
  refuse(reason: CredentialDenialReason): Promise<void>;
}

export function requireScimCredential({ credentials, refuse }: ScimAccess): RequestHandler {
  const check = bearerKeys(credentials);
  return async (request, response, next) => {
    const verdict = check(request);
    if (verdict === 'accepted') {
      next();
      return;
    }
    discardRest(request);
    await refuse(verdict);
    response.set('WWW-Authenticate', 'Bearer');
    answerScimError(response, { status: 401, detail: 'The credential is missing or wrong.', reason: verdict });
  };
}
