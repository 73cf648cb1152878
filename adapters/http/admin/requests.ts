/** The check of the admin key, and parsers for path and body, for `/admin` and `/audit`. */

import type { Request, RequestHandler, Response } from 'express';
import { fieldErrors } from '../../../domain/field-error.ts';
import { parseSponsorKey, type SponsorKey } from '../../../domain/identifiers.ts';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { Secret } from '../../../domain/secret.ts';
import { isJsonObject, type JsonObject } from '../../../domain/tokens/strict-json.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { requireBearer } from '../message/bearer.ts';
import { discardRest, parseJson, readTypedBody } from '../message/body.ts';
import { answerInvalid, answerProblem } from '../message/problem-details.ts';

export interface AdminAccess {
  /** `undefined` disables the admin API. */
  readonly apiKey: Secret | undefined;
  /** Writes the record of a refused request. */
  refuse(reason: CredentialDenialReason, trace?: Trace): Promise<void>;
}

/** Requires the admin key (specification "Authentication"). */
export function requireAdminKey({ apiKey, refuse }: AdminAccess): RequestHandler {
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

const SPONSOR_KEY_SENTENCE = 'Must be 1 to 256 characters, none of them white space or a control character.';

/** Parses a sponsor key in a path (specification "Admin API"). If it is invalid, answers and returns `undefined`. */
export function readSponsorKey(text: string, response: Response): SponsorKey | undefined {
  const sponsorKey = parseSponsorKey(text);
  if (sponsorKey === undefined) answerInvalid(response, fieldErrors('sponsor_key', SPONSOR_KEY_SENTENCE));
  return sponsorKey;
}

/**
 * Reads the JSON object in the request's body (supplement "Token endpoint", "Agents"). Returns `undefined` if it has
 * already answered the request, or the client has disconnected.
 */
export async function readJsonBody(request: Request, response: Response): Promise<JsonObject | undefined> {
  const body = await readTypedBody(request, ['application/json'], 'The body must be application/json, in UTF-8.');
  if (body.kind === 'aborted') return undefined;
  const refuse = (status: 400 | 415, detail: string, reason: string): undefined =>
    void answerProblem(response, { status, detail, reason });
  if (body.kind === 'refused') {
    return refuse(body.reason === 'body_too_large' ? 400 : 415, body.sentence, body.reason);
  }
  const value = parseJson(body.bytes);
  if (isJsonObject(value)) return value;
  return refuse(400, value === undefined ? MALFORMED : 'The body must be a JSON object.', 'malformed_body');
}

const MALFORMED =
  'The body must be well-formed JSON in UTF-8, without a member named twice and without nesting deeper than 32.';
