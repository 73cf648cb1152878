/**
 * The claims of a subject token whose signature has verified: for whom an agent asks (specification "Exchange" rules 3
 * and 5; decisions "Subject tokens"). The order of the checks is the order of the decisions' list of reasons.
 */

import type { DenialReason } from '../denial.ts';
import { namesAgent, type SponsorKey } from '../identifiers.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../instant.ts';
import { isScopeToken, type Scope } from '../scope.ts';
import { CLOCK_SKEW_SECONDS } from '../tokens/clock-skew.ts';
import { audienceClaim, type CompactJws, dateClaim, hasType, isTextList, textClaim } from '../tokens/compact-jws.ts';
import { type JsonObject, member } from '../tokens/strict-json.ts';
import { parseSponsorKey } from './sponsor-key.ts';

const MAX_SUB_LENGTH = 256;
const MAX_SID_LENGTH = 256;
const CONTROL = /\p{Cc}/u;

/** A provider signs other tokens with the same keys; these say of themselves that they are access tokens, or nothing. */
export function isSubjectTokenType(jws: CompactJws): boolean {
  // RFC 9068 §2.1, and vendors' own kinds of at+jwt.
  const accepted = jws.type === undefined || hasType(jws, ['jwt']) || /(^|[/-])at\+jwt$/i.test(jws.type);
  // RFC 8417 §2.2: what makes a JWT a security event token, such as a logout token.
  return accepted && member(jws.claims, 'events') === undefined;
}

/** The human, as the identity provider's token shows them. */
export interface Person {
  /** `sub`: who they are in tokens and records. */
  readonly subject: string;
  readonly sponsorKey: SponsorKey;
  readonly sessionId: string | undefined;
  /** `iat`, a whole second, 1970 at the earliest. */
  readonly issuedAt: Instant | undefined;
  /** What they may do themselves; an agent never gets more. */
  readonly scope: Scope;
}

export type SubjectReason = Extract<DenialReason, `subject_${string}` | 'sponsor_key_missing'>;
export type SubjectVerdict =
  | { readonly kind: 'accepted'; readonly person: Person }
  /** `subject` is there once it is known to be a human's. */
  | { readonly kind: 'refused'; readonly reason: SubjectReason; readonly subject?: string | undefined };

/** What a subject token is held against. */
export interface Expectations {
  readonly issuer: string;
  readonly audience: string;
  readonly sponsorKeyClaim: string;
  readonly now: Instant;
}

export function judgeSubjectToken(claims: JsonObject, expected: Expectations): SubjectVerdict {
  const refused = (reason: SubjectReason, subject?: string) => ({ kind: 'refused', reason, subject }) as const;
  const now = toSeconds(expected.now);

  if (textClaim(claims, 'iss') !== expected.issuer) return refused('subject_untrusted_issuer');
  const expiry = dateClaim(claims, 'exp');
  if (expiry === undefined) return refused('subject_missing_expiry');
  if (expiry + CLOCK_SKEW_SECONDS <= now) return refused('subject_expired');
  const issued = dateClaim(claims, 'iat');
  const starts = Math.max(dateClaim(claims, 'nbf') ?? now, issued ?? now);
  if (starts > now + CLOCK_SKEW_SECONDS) return refused('subject_not_yet_valid');
  if (!audienceClaim(claims)?.includes(expected.audience)) return refused('subject_audience_mismatch');

  const subject = member(claims, 'sub');
  if (subject === undefined) return refused('subject_missing_subject');
  if (typeof subject !== 'string' || subject.length < 1 || subject.length > MAX_SUB_LENGTH || CONTROL.test(subject)) {
    return refused('subject_sub_malformed');
  }
  if (namesAgent(subject)) return refused('subject_is_agent');
  // A delegated token re-exchanged would come out clean of the first delegate (RFC 8693 §4.1).
  if (member(claims, 'act') !== undefined) return refused('subject_already_delegated', subject);

  const sponsorKey = parseSponsorKey(textClaim(claims, expected.sponsorKeyClaim) ?? '');
  if (sponsorKey === undefined) return refused('sponsor_key_missing', subject);
  // A session we could not name later could not be ended by its logout: refuse rather than forget it.
  const sessionId = member(claims, 'sid') ?? undefined;
  if (sessionId !== undefined && !isUsableSession(sessionId)) return refused('subject_malformed', subject);

  // An iat may be any safe integer, which no database stores as a time: before 1970 is long ago.
  const issuedAt = issued === undefined ? undefined : instantFromSeconds(Math.max(0, issued));
  return { kind: 'accepted', person: { subject, sponsorKey, sessionId, issuedAt, scope: personScope(claims) } };
}

function isUsableSession(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= MAX_SID_LENGTH && !CONTROL.test(value);
}

/** `scope`, a text; only when it is absent `scp`, a text or a list. A token without either grants nothing. */
function personScope(claims: JsonObject): Scope {
  const scope = member(claims, 'scope');
  const claim = scope === undefined ? member(claims, 'scp') : typeof scope === 'string' ? scope : undefined;
  const names = typeof claim === 'string' ? claim.split(' ') : isTextList(claim) ? claim : [];
  return [...new Set(names.filter(isScopeToken))];
}
