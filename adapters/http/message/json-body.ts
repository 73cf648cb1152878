/** Reads a body of JSON, whose refusals are problem details. */

import type { Request } from 'express';
import { isJsonObject, type JsonObject } from '../../../domain/tokens/strict-json.ts';
import { parseJson, readTypedBody } from './body.ts';
import { type Answer, answerProblem } from './problem-details.ts';

/**
 * Reads the JSON object in the request's body (supplement "Token endpoint", "Agents"). Returns the
 * refusal of another body, and `undefined` if the client has disconnected.
 */
export async function readJsonBody(request: Request): Promise<JsonObject | Answer | undefined> {
  const body = await readTypedBody(request, ['application/json'], 'The body must be application/json, in UTF-8.');
  if (body.kind === 'aborted') return undefined;
  const refuse =
    (status: 400 | 415, detail: string, reason: string): Answer =>
    (response) =>
      answerProblem(response, { status, detail, reason });
  if (body.kind === 'refused') {
    return refuse(body.reason === 'body_too_large' ? 400 : 415, body.sentence, body.reason);
  }
  const value = parseJson(body.bytes);
  if (isJsonObject(value)) return value;
  return refuse(400, value === undefined ? MALFORMED : 'The body must be a JSON object.', 'malformed_body');
}

const MALFORMED =
  'The body must be well-formed JSON in UTF-8, without a member named twice and without nesting deeper than 32.';
