/** The check of the admin key, and the parser of a path, for `/admin` and `/audit`. */

import type { Request, RequestHandler } from 'express';
import { fieldErrors } from '../../../domain/field-error.ts';
import { parseSponsorKey, type SponsorKey } from '../../../domain/identifiers.ts';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { Secret } from '../../../domain/secret.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { type ActedOn, actedOnBy } from '../acted-on.ts';
import { requireBearer } from '../message/bearer.ts';
import { discardRest } from '../message/body.ts';
import { type Answer, answerInvalid, answerProblem } from '../message/problem-details.ts';
import { authenticateOperator, type OperatorAccess, requireOperator } from './operators.ts';
import type { AdminRoute } from './roles.ts';

export interface AdminAccess {
  /** `undefined` disables the admin API. */
  readonly apiKey: Secret | undefined;
  /** Writes the record of a refused request. */
  refuse(reason: CredentialDenialReason, trace?: Trace): Promise<void>;
  /** `undefined` without `Service:Operators`. */
  readonly operators?: OperatorAccess | undefined;
}

/** Requires the admin key (specification "Authentication"), or of an operator a valid access token. */
export function requireAdminKey({ apiKey, refuse, operators }: AdminAccess): RequestHandler {
  if (operators !== undefined) return authenticateOperator({ apiKey, refuse }, operators);
  if (apiKey !== undefined) {
    return requireBearer({ credentials: [apiKey], refuse }, (response, reason) =>
      answerProblem(response, { status: 401, detail: 'The admin key is missing or wrong.', reason }),
    );
  }
  return (request, response) => {
    discardRest(request);
    const detail = 'The admin API is disabled: no admin key is configured.';
    answerProblem(response, { status: 503, detail, reason: 'admin_api_disabled' });
  };
}

/** The part of a surface that settles a change before it is answered. */
export interface Settling {
  /** Records the act of the request's operator, unless a decision has. Absent without an act. */
  settle?(): Promise<void>;
}

/**
 * A route that changes something. What the handler did is durable, and so is the record of who asked for it, before the
 * answer leaves. The handler returns `undefined` if the client has disconnected.
 */
export function changing<Surface extends AdminAccess & Settling, Parameters>(
  surface: ActedOn<Surface>,
  route: AdminRoute,
  handle: (own: Surface, request: Request<Parameters>) => Promise<Answer | undefined>,
): RequestHandler<Parameters>[] {
  return [
    requireOperator(surface.operators, route) as RequestHandler<Parameters>,
    async (request, response) => {
      const own = actedOnBy<Surface>(surface, request.act);
      const answer = await handle(own, request);
      await own.settle?.();
      answer?.(response);
    },
  ];
}

export const SPONSOR_KEY_SENTENCE = 'Must be 1 to 256 characters, none of them white space or a control character.';

/** Parses a sponsor key in a path (specification "Admin API"). Returns the answer if it is invalid. */
export function readSponsorKey(text: string): SponsorKey | Answer {
  const invalid: Answer = (response) => answerInvalid(response, fieldErrors('sponsor_key', SPONSOR_KEY_SENTENCE));
  return parseSponsorKey(text) ?? invalid;
}
