/** `POST /events` (RFC 8935 §2; specification "POST /events"): a transmitter pushes security event tokens here. */

import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { SecurityEventOutcome } from '../../../application/signals/accept-security-event.ts';
import type { CredentialDenialReason } from '../../../domain/ledger/aggregation.ts';
import type { Secret } from '../../../domain/secret.ts';
import { bearerKeys } from '../message/bearer-keys.ts';
import { discardRest, readBody } from '../message/body.ts';
import { faultHandler } from '../message/faults.ts';
import { hasMediaType } from '../message/headers.ts';
import {
  answerFault,
  answerMalformed,
  answerMethod,
  answerSecurityEvent,
  answerStorageUnavailable,
  answerUnauthenticated,
} from './answers.ts';

export interface EventsSurface {
  /** The push credential, and the former one while it is being replaced. */
  readonly credentials: readonly Secret[];
  /** Records a request without a usable credential. */
  refuse(reason: CredentialDenialReason): Promise<void>;
  /** @param eventToken `undefined` when the request holds none that can be read; that is recorded too */
  accept(eventToken: string | undefined): Promise<SecurityEventOutcome>;
  readonly log: Log;
}

const PATH = '/events';

export function eventsRouter(surface: EventsSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.all(PATH, requireCredential(surface));
  router.post(PATH, async (request, response) => {
    const body = await readToken(request);
    if (body.kind === 'gone') return;
    const outcome = await surface.accept(body.kind === 'read' ? body.text : undefined);
    if (body.kind === 'unreadable') answerMalformed(response, body.description);
    else answerSecurityEvent(response, outcome);
  });
  router.all(PATH, async (request, response) => {
    discardRest(request);
    await surface.accept(undefined);
    answerMethod(response);
  });
  router.use(faultHandler(surface.log, { unavailable: answerStorageUnavailable, fault: answerFault }));
  return router;
}

/** Before a byte of the body is read. */
function requireCredential({ credentials, refuse }: EventsSurface): RequestHandler {
  const judge = bearerKeys(credentials);
  return async (request: Request, response: Response, next) => {
    response.setHeader('Cache-Control', 'no-store');
    const verdict = judge(request);
    if (verdict === 'accepted') {
      next();
      return;
    }
    discardRest(request);
    await refuse(verdict);
    answerUnauthenticated(response, verdict);
  };
}

type ReadToken =
  | { readonly kind: 'read'; readonly text: string }
  | { readonly kind: 'unreadable'; readonly description: string }
  /** The transmitter left before it had sent everything. */
  | { readonly kind: 'gone' };

async function readToken(request: Request): Promise<ReadToken> {
  const unreadable = (description: string) => ({ kind: 'unreadable', description }) as const;
  if (!hasMediaType(request, ['application/secevent+jwt'])) {
    discardRest(request);
    return unreadable('The body must be application/secevent+jwt.');
  }
  const body = await readBody(request);
  switch (body.kind) {
    case 'aborted':
      return { kind: 'gone' };
    case 'too_large':
      return unreadable('The body is over 64 KiB.');
    case 'unsupported_encoding':
      return unreadable('The body must not be compressed.');
    case 'read':
      // A character of a token is a byte; any other byte makes it malformed, whichever character it becomes.
      return { kind: 'read', text: body.bytes.toString('latin1') };
  }
}
