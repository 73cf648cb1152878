/**
 * `POST /events` (RFC 8935 §2; specification "POST /events"): a transmitter pushes security event tokens here. It
 * shows a bearer credential, and posts one token. `application/signals/accept-security-event.ts` validates the token,
 * blocks the person or ends tasks, and records the outcome. The answer is RFC 8935's: 202, or an error code for the
 * transmitter.
 */

import express, { type Request, type Response, type Router } from 'express';
import type { HeldPermit } from '../../../application/ports/keys.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { SecurityEventOutcome } from '../../../application/signals/accept-security-event.ts';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { SecurityEventDenialReason } from '../../../domain/signals/security-event.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { type BearerAccess, requireBearer } from '../message/bearer.ts';
import { discardRest, readTypedBody, withoutLineBreak } from '../message/body.ts';
import { CAPACITY_RETRY_AFTER, DATABASE_RETRY_AFTER, faultHandler } from '../message/faults.ts';
import { neverStored } from '../message/head.ts';

export interface EventsSurface extends BearerAccess {
  /** @param eventToken `undefined` if the request has no readable token. This is recorded too */
  accept(eventToken: string | undefined, trace?: Trace, permit?: HeldPermit): Promise<SecurityEventOutcome>;
  readonly log: Log;
}

const PATH = '/events';
const MEDIA_TYPES = ['application/secevent+jwt'];

export function eventsRouter(surface: EventsSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.all(PATH, neverStored, requireBearer(surface, answerUnauthenticated));
  router.post(PATH, async (request: Request, response) => {
    const body = await readTypedBody(request, MEDIA_TYPES, 'The body must be application/secevent+jwt.');
    if (body.kind === 'aborted') return;
    // A token is ASCII. latin1 decodes any other byte to a character that makes the token malformed.
    const eventToken = body.kind === 'read' ? withoutLineBreak(body.bytes.toString('latin1')) : undefined;
    const outcome = await surface.accept(eventToken, request.trace, request.permit);
    if (body.kind === 'refused') answerMalformed(response, body.sentence);
    else answerSecurityEvent(response, outcome);
  });
  router.all(PATH, async (request: Request, response) => {
    discardRest(request);
    await surface.accept(undefined, request.trace);
    answerMethod(response);
  });
  router.use(faultHandler(surface.log, { unavailable: answerStorageUnavailable, fault: answerFault }));
  return router;
}

/** Error codes of RFC 8935 §2.4. */
type ErrorCode = 'invalid_request' | 'invalid_key' | 'invalid_issuer' | 'invalid_audience';

const REFUSALS: Readonly<
  Record<Exclude<SecurityEventDenialReason, 'ssf_keys_unavailable'>, readonly [err: ErrorCode, description: string]>
> = {
  ssf_malformed: ['invalid_request', 'malformed: the body is no compact JWS of a well-formed JSON object.'],
  ssf_unsupported_algorithm: ['invalid_key', 'unsupported_algorithm: sign with RS, PS or ES 256 to 512, or EdDSA.'],
  ssf_unknown_key: ['invalid_key', "unknown_key: the token's kid is not in the transmitter's key set."],
  ssf_key_mismatch: ['invalid_key', "key_mismatch: the key that the kid names does not fit the token's alg."],
  ssf_invalid_signature: ['invalid_key', "invalid_signature: none of the transmitter's keys made the signature."],
  ssf_untrusted_issuer: ['invalid_issuer', 'untrusted_issuer: the iss is not the transmitter that is configured here.'],
  ssf_audience_mismatch: ['invalid_audience', 'audience_mismatch: the aud is not that of the stream configured here.'],
  ssf_missing_issued_at: ['invalid_request', 'missing_issued_at: the token has no iat.'],
  ssf_not_yet_valid: ['invalid_request', 'not_yet_valid: the iat, or the nbf, is in the future.'],
  ssf_too_old: ['invalid_request', 'too_old: the iat is more than a day ago.'],
  ssf_missing_jti: ['invalid_request', 'missing_jti: the token needs a jti of 1 to 256 characters.'],
  ssf_expired: ['invalid_request', 'expired: the exp has passed.'],
  ssf_not_a_security_event: [
    'invalid_request',
    'not_a_security_event: the typ must be secevent+jwt, and events an object of one or more events.',
  ],
  ssf_ambiguous_subject: [
    'invalid_request',
    'ambiguous_subject: the token names more than one person, or has aliases of which several could name one.',
  ],
  ssf_no_usable_subject: [
    'invalid_request',
    'no_usable_subject: no subject, or one that is no person of the identity provider configured here.',
  ],
  ssf_unsupported_subject_format: [
    'invalid_request',
    'unsupported_subject_format: the subject must be iss_sub or opaque, or complex or aliases with one of these.',
  ],
};

/**
 * RFC 8935 §2.2 to §2.4; specification "Shared Signals answers". Often a transmitter shows its operator only this
 * description. So it names the failed check, in fixed words.
 */
function answerSecurityEvent(response: Response, outcome: SecurityEventOutcome): void {
  if (outcome.kind !== 'refused') {
    // RFC 8935 §2.2: the same answer for an applied, an ignored and a repeated token.
    response.reason = outcome.kind;
    response.status(202).end();
    return;
  }
  const { reason } = outcome;
  response.reason = reason;
  if (reason === 'ssf_keys_unavailable') {
    answerLater(response, 'keys_unavailable: the keys to verify it with could not be fetched. Send it again.');
    return;
  }
  const [err, description] = REFUSALS[reason];
  response.status(400).json({ err, description });
}

function answerMalformed(response: Response, description: string): void {
  response.reason = 'ssf_malformed';
  response.status(400).json({ err: 'invalid_request', description });
}

function answerMethod(response: Response): void {
  response.reason = 'ssf_malformed';
  const description = 'This endpoint answers POST only.';
  response.set('Allow', 'POST').status(405).json({ err: 'invalid_request', description });
}

/** Says nothing about the token, because the client is not authenticated. */
function answerUnauthenticated(response: Response, reason: CredentialDenialReason): void {
  response.reason = reason;
  response.status(401).json({ err: 'authentication_failed' });
}

function answerStorageUnavailable(response: Response): void {
  response.reason = 'storage_unavailable';
  answerLater(response, 'The service could not reach its database. Send it again.', DATABASE_RETRY_AFTER);
}

function answerFault(response: Response): void {
  response.reason = 'fault';
  response.status(500).json({ err: 'server_error', description: 'The service met an unexpected condition.' });
}

/** RFC 8935 has no code for "try later", so this is OAuth's code. */
function answerLater(response: Response, description: string, retryAfter = CAPACITY_RETRY_AFTER): void {
  response.set('Retry-After', String(retryAfter));
  response.status(503).json({ err: 'temporarily_unavailable', description });
}
