/**
 * The one key to everything under `/admin` and `/audit` (specification "Authentication"): asked for before the path is
 * looked at and before a byte of the body is read.
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { RequestHandler } from 'express';
import type { AdminDenialReason } from '../../../application/admin/refuse-admin.ts';
import type { Secret } from '../../../domain/secret.ts';
import { discardRest } from '../body.ts';
import { bearerCredential } from '../headers.ts';
import { answerProblem } from '../problem-details.ts';

export interface AdminAccess {
  /** `undefined` disables the admin API. */
  readonly apiKey: Secret | undefined;
  /** Records the refusal. */
  refuse(reason: AdminDenialReason): Promise<void>;
}

export function requireAdminKey({ apiKey, refuse }: AdminAccess): RequestHandler {
  const expected = apiKey === undefined ? undefined : hash(apiKey.reveal());
  return async (request, response, next) => {
    response.set('Cache-Control', 'no-store');
    if (expected === undefined) {
      discardRest(request);
      const detail = 'The admin API is disabled: no admin key is configured.';
      answerProblem(response, { status: 503, detail, reason: 'admin_api_disabled' });
      return;
    }
    const presented = bearerCredential(request);
    // Hashed first, so that the comparison takes as long for a key of any length.
    if (presented.kind === 'present' && timingSafeEqual(hash(presented.token), expected)) {
      next();
      return;
    }
    discardRest(request);
    const reason = presented.kind === 'absent' ? 'missing_api_key' : 'invalid_api_key';
    await refuse(reason);
    response.set('WWW-Authenticate', 'Bearer');
    answerProblem(response, { status: 401, detail: 'The admin key is missing or wrong.', reason });
  };
}

function hash(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}
