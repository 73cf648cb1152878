/**
 * Who asks at `/me`: the holder of an access token for `Service:Me:Audience`, or of a session of the page. The agent
 * holds the person's other access tokens, so they open nothing here.
 */

import type { Outcome } from '../../../application/outcome.ts';
import type { HeldPermit } from '../../../application/ports/keys.ts';
import type { DenialReason } from '../../../domain/denial.ts';
import type { MeDenialReason, MePerson } from '../../../domain/sponsors/me-person.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import type { BrowserSession, BrowserSessions } from '../browser/session.ts';
import { bearerCredential } from '../message/bearer.ts';
import { singleHeader } from '../message/head.ts';
import type { ServedRequest } from '../server/message-classes.ts';

type MeSession = BrowserSession<MePerson>;

export interface MeAccess {
  /** The origin of writes with a session. */
  readonly issuer: string;
  /** Validates an access token. `undefined` without `Service:Me:Audience`: then every token is refused. */
  readonly validate: ((token: string, trace?: Trace, permit?: HeldPermit) => Promise<Outcome<MePerson>>) | undefined;
  /** `undefined` without `Service:Me:ClientId`: then cookies are not read. */
  readonly sessions: Pick<BrowserSessions<MePerson>, 'find'> | undefined;
}

export type Identified =
  /** `session` is `undefined` with an access token. */
  | { readonly kind: 'person'; readonly person: MePerson; readonly session: MeSession | undefined }
  /** `fault`: what is wrong with the token, for the log. */
  | { readonly kind: 'refused'; readonly reason: MeDenialReason; readonly fault?: DenialReason | undefined };

/** Reads the Authorization header if there is one, else the cookies. Writes no answer and no record. */
export async function identify(access: MeAccess, request: ServedRequest): Promise<Identified> {
  const credential = bearerCredential(request);
  if (credential.kind === 'absent') {
    const cookies = singleHeader(request, 'cookie');
    const session = cookies.kind === 'present' ? await access.sessions?.find(cookies.value, request.trace) : undefined;
    return session === undefined
      ? { kind: 'refused', reason: 'missing_token' }
      : { kind: 'person', person: session.holder, session };
  }
  if (credential.kind === 'unusable' || access.validate === undefined) {
    return { kind: 'refused', reason: 'invalid_token' };
  }
  const outcome = await access.validate(credential.token, request.trace, request.permit);
  if (outcome.kind === 'allowed') return { kind: 'person', person: outcome.value, session: undefined };
  const { reason: fault } = outcome.denial;
  // The token may be good: its signature could not be checked.
  if (fault === 'subject_keys_unavailable') return { kind: 'refused', reason: fault };
  // An agent that tries the person's token must not look like an expired one.
  const reason = fault === 'subject_audience_mismatch' ? 'token_audience_mismatch' : 'invalid_token';
  return { kind: 'refused', reason, fault };
}
