/** Authenticates requests by a bearer credential: the current one or, during a rotation, also the previous one. */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { Secret } from '../../../domain/secret.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { trimOws } from '../../../domain/trim-ows.ts';
import { discardRest } from './body.ts';
import { singleHeader } from './head.ts';

export interface BearerAccess {
  /** The current credential and, during a rotation, the previous one. */
  readonly credentials: readonly Secret[];
  /** Writes the record of a refused request. */
  refuse(reason: CredentialDenialReason, trace?: Trace): Promise<void>;
}

/** Writes the body of a 401. */
type AnswerUnauthorized = (response: Response, reason: CredentialDenialReason) => void;

/** Checks the credential before the path and the body are read. */
export function requireBearer(access: BearerAccess, answer: AnswerUnauthorized): RequestHandler {
  const check = bearerKeys(access.credentials);
  return async (request: Request, response, next) => {
    const verdict = check(request);
    if (verdict === 'accepted') {
      next();
      return;
    }
    await refuseBearer(access, request, response, verdict, answer);
  };
}

/** Records the refusal, and answers 401. */
export async function refuseBearer(
  { refuse }: Pick<BearerAccess, 'refuse'>,
  request: Request,
  response: Response,
  reason: CredentialDenialReason,
  answer: AnswerUnauthorized,
): Promise<void> {
  discardRest(request);
  await refuse(reason, request.trace);
  response.set('WWW-Authenticate', 'Bearer');
  answer(response, reason);
}

/** Checks a request's credential, and reads only its Authorization header. */
export function bearerKeys(
  accepted: readonly Secret[],
): (request: IncomingMessage) => 'accepted' | CredentialDenialReason {
  const expected = accepted.map((secret) => hash(secret.reveal()));
  return (request) => {
    const presented = bearerCredential(request);
    if (presented.kind === 'absent') return 'missing_api_key';
    if (presented.kind === 'unusable') return 'invalid_api_key';
    // Compares hashes, and with every credential. So the time reveals neither a credential's length nor which one matched.
    const given = hash(presented.token);
    const fits = expected.map((key) => timingSafeEqual(given, key));
    return fits.includes(true) ? 'accepted' : 'invalid_api_key';
  };
}

function hash(key: string): Buffer {
  return createHash('sha256').update(key, 'utf8').digest();
}

/** The bearer token syntax of RFC 6750 §2.1, which equals `token68` of RFC 9110 §11.2. */
const BEARER = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

type BearerCredential =
  | { readonly kind: 'absent' }
  | { readonly kind: 'unusable' }
  | { readonly kind: 'present'; readonly token: string };

/** Reads the bearer token of the Authorization header (RFC 6750 §2.1). Repeated headers and other schemes are unusable. */
export function bearerCredential(request: IncomingMessage): BearerCredential {
  const header = singleHeader(request, 'authorization');
  if (header.kind === 'absent') return { kind: 'absent' };
  if (header.kind === 'repeated') return { kind: 'unusable' };
  const token = BEARER.exec(trimOws(header.value))?.[1];
  return token === undefined ? { kind: 'unusable' } : { kind: 'present', token };
}
