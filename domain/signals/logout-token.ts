/**
 * The claims of a logout token whose signature has verified (OpenID Connect Back-Channel Logout 1.0 §2.4, §2.6;
 * specification "POST /backchannel-logout"). The order of the checks is the order of the supplement's list of reasons.
 */

import { hasControl } from '../control-characters.ts';
import type { Instant } from '../instant.ts';
import { type CompactJws, hasType } from '../tokens/compact-jws.ts';
import { isJsonObject, type JsonObject, member } from '../tokens/strict-json.ts';
import { type ExpectedSignal, judgeSignalClaims, MAX_SIGNAL_IDENTIFIER, type SignalUse } from './signal-claims.ts';

/** The reasons of `signal.denied` at this receiver (supplement "Reasons"). */
export const logoutDenialReasons = [
  'logout_malformed',
  'logout_unsupported_algorithm',
  'logout_keys_unavailable',
  'logout_unknown_key',
  'logout_key_mismatch',
  'logout_invalid_signature',
  'logout_untrusted_issuer',
  'logout_audience_mismatch',
  'logout_missing_issued_at',
  'logout_not_yet_valid',
  'logout_too_old',
  'logout_missing_jti',
  'logout_expired',
  'logout_not_a_logout_event',
  'logout_nonce_present',
  'logout_identifier_too_long',
  'logout_no_subject_or_session',
] as const;
export type LogoutDenialReason = (typeof logoutDenialReasons)[number];

/** §2.4: the member that makes a token a logout token. */
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** §2.4 recommends the first. Older providers send the second, or no `typ`. */
const ACCEPTED_TYPES = ['logout+jwt', 'jwt'];
/** Supplement "Blocks, poll mode, health". */
const MAX_AGE_SECONDS = 10 * 60;

/** Whose tasks end: those of the named session, or without a session those of the person. */
export type LoggedOut =
  | { readonly kind: 'session'; readonly sessionId: string; readonly subject: string | undefined }
  | { readonly kind: 'person'; readonly subject: string };

export type LogoutVerdict =
  /** `issuedAt` is the token's `iat`: the time when the session ended. */
  | ({ readonly kind: 'accepted'; readonly loggedOut: LoggedOut; readonly issuedAt: Instant } & SignalUse)
  | { readonly kind: 'refused'; readonly reason: LogoutDenialReason };

/** @param expected its audience is the human-facing client at the provider */
export function judgeLogoutToken(jws: CompactJws, expected: Omit<ExpectedSignal, 'maxAgeSeconds'>): LogoutVerdict {
  const refused = (reason: LogoutDenialReason) => ({ kind: 'refused', reason }) as const;

  const claims = jws.claims.json;
  const signal = judgeSignalClaims(jws.claims, { ...expected, maxAgeSeconds: MAX_AGE_SECONDS });
  if (signal.kind === 'refused') return refused(`logout_${signal.check}`);
  // The provider's keys also sign access tokens, ID tokens and sometimes security event tokens.
  if (!isLogoutType(jws) || !carriesLogoutEvent(claims)) return refused('logout_not_a_logout_event');
  // §2.4 forbids `nonce`, so that logout tokens and ID tokens cannot be mistaken for each other.
  if (member(claims, 'nonce') !== undefined) return refused('logout_nonce_present');

  const [subject, sessionId] = [readIdentifier(claims, 'sub'), readIdentifier(claims, 'sid')];
  if (subject === 'malformed' || sessionId === 'malformed') return refused('logout_malformed');
  const identifiers = [signal.jti, subject?.text ?? '', sessionId?.text ?? ''];
  if (identifiers.some((text) => text.length > MAX_SIGNAL_IDENTIFIER)) return refused('logout_identifier_too_long');
  const { jti, forgetAt, issuedAt } = signal;
  if (sessionId !== undefined) {
    const loggedOut = { kind: 'session', sessionId: sessionId.text, subject: subject?.text } as const;
    return { kind: 'accepted', jti, forgetAt, issuedAt, loggedOut };
  }
  if (subject === undefined) return refused('logout_no_subject_or_session');
  return { kind: 'accepted', jti, forgetAt, issuedAt, loggedOut: { kind: 'person', subject: subject.text } };
}

function isLogoutType(jws: CompactJws): boolean {
  return jws.type === undefined || hasType(jws, ACCEPTED_TYPES);
}

/** §2.6 requires the member and ignores its content. Providers may add other events. */
function carriesLogoutEvent(claims: JsonObject): boolean {
  const events = member(claims, 'events');
  return isJsonObject(events) && member(events, LOGOUT_EVENT) !== undefined;
}

/**
 * `undefined` for an absent or empty value, and for a `sid` of null (supplement "Sizes and forms nobody wrote down").
 * Any other value that is not a string is malformed.
 */
function readIdentifier(claims: JsonObject, name: 'sub' | 'sid'): { readonly text: string } | 'malformed' | undefined {
  const value = member(claims, name);
  if (value === undefined || value === '' || (name === 'sid' && value === null)) return undefined;
  return typeof value === 'string' && !hasControl(value) ? { text: value } : 'malformed';
}
