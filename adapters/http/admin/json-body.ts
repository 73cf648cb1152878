/** Reads the JSON object a request carries, or answers why it can't be read (decisions "Token endpoint", "Agents"). */

import type { Request, Response } from 'express';
import { isJsonObject, type JsonObject, parseStrictJson } from '../../../domain/tokens/strict-json.ts';
import { discardRest, readBody } from '../message/body.ts';
import { hasMediaType } from '../message/headers.ts';
import { answerProblem } from '../message/problem-details.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** `undefined` once the request has been answered, or its sender has left. */
export async function readJsonBody(request: Request, response: Response): Promise<JsonObject | undefined> {
  if (!hasMediaType(request, ['application/json'])) {
    discardRest(request);
    return refuse(response, 415, 'The body must be application/json, in UTF-8.', 'unsupported_media_type');
  }
  const body = await readBody(request);
  switch (body.kind) {
    case 'aborted':
      return undefined;
    case 'unsupported_encoding':
      return refuse(response, 415, 'The body must not be compressed.', 'unsupported_encoding');
    case 'too_large':
      return refuse(response, 400, 'The body is over 64 KiB.', 'body_too_large');
    case 'read':
      break;
  }
  const value = parseJson(body.bytes);
  if (isJsonObject(value)) return value;
  return value === undefined
    ? refuse(response, 400, MALFORMED, 'malformed_body')
    : refuse(response, 400, 'The body must be a JSON object.', 'malformed_body');
}

const MALFORMED =
  'The body must be well-formed JSON in UTF-8, without a member named twice and without nesting deeper than 32.';

function parseJson(bytes: Buffer) {
  try {
    return parseStrictJson(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}

function refuse(response: Response, status: 400 | 415, detail: string, reason: string): undefined {
  answerProblem(response, { status, detail, reason });
}
