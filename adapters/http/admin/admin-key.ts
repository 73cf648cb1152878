/**
 * The one key to everything under `/admin` and `/audit` (specification "Authentication"): asked for before the path is
 * looked at and before a byte of the body is read.
 */

import type { RequestHandler } from 'express';
import type { AdminDenialReason } from '../../../application/admin/refuse-admin.ts';
import type { Secret } from '../../../domain/secret.ts';
import { bearerKeys } from '../message/bearer-keys.ts';
import { discardRest } from '../message/body.ts';
import { answerProblem } from '../message/problem-details.ts';

export interface AdminAccess {
  /** `undefined` disables the admin API. */
  readonly apiKey: Secret | undefined;
  /** Records the refusal. */
  refuse(reason: AdminDenialReason): Promise<void>;
}

export function requireAdminKey({ apiKey, refuse }: AdminAccess): RequestHandler {
  const check = apiKey === undefined ? undefined : bearerKeys([apiKey]);
  return async (request, response, next) => {
    response.set('Cache-Control', 'no-store');
    if (check === undefined) {
      discardRest(request);
      const detail = 'The admin API is disabled: no admin key is configured.';
      answerProblem(response, { status: 503, detail, reason: 'admin_api_disabled' });
      return;
    }
    const verdict = check(request);
    if (verdict === 'accepted') {
      next();
      return;
    }
    discardRest(request);
    await refuse(verdict);
    response.set('WWW-Authenticate', 'Bearer');
    answerProblem(response, { status: 401, detail: 'The admin key is missing or wrong.', reason: verdict });
  };
}
