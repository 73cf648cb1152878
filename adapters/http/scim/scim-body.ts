/** Reads the message that a SCIM request carries, or answers why it can't be read (decisions "SCIM", "Token endpoint"). */

import type { Request, Response } from 'express';
import { scimFault } from '../../../domain/signals/scim-fault.ts';
import { isJsonObject, type Json, type JsonObject, parseStrictJson } from '../../../domain/tokens/strict-json.ts';
import { discardRest, readBody } from '../message/body.ts';
import { hasMediaType } from '../message/headers.ts';
import { answerInvalid, answerScimError } from './answers.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Decisions "SCIM": providers send either. */
const MEDIA_TYPES = ['application/scim+json', 'application/json'];

/** `undefined` once the request has been answered, or its sender has left. */
export async function readScimBody(request: Request, response: Response): Promise<JsonObject | undefined> {
  if (!hasMediaType(request, MEDIA_TYPES)) {
    discardRest(request);
    return refuseMediaType(response, 'The body must be application/scim+json, in UTF-8.', 'unsupported_media_type');
  }
  const body = await readBody(request);
  switch (body.kind) {
    case 'aborted':
      return undefined;
    case 'unsupported_encoding':
      return refuseMediaType(response, 'The body must not be compressed.', 'unsupported_encoding');
    case 'too_large':
      answerInvalid(response, scimFault('invalidSyntax', 'The body is over 64 KiB.'));
      return undefined;
    case 'read':
      break;
  }
  const message = parseJson(body.bytes);
  if (isJsonObject(message)) return message;
  answerInvalid(response, scimFault('invalidSyntax', MALFORMED));
  return undefined;
}

const MALFORMED =
  'The body must be a JSON object in UTF-8, without a member named twice and without nesting deeper than 32.';

function parseJson(bytes: Buffer): Json | undefined {
  try {
    return parseStrictJson(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}

function refuseMediaType(response: Response, detail: string, reason: string): undefined {
  answerScimError(response, { status: 415, detail, reason });
}
