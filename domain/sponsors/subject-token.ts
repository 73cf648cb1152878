/**
 * Checks the claims of a subject token whose signature was verified. They name the person for whom an agent wants to
 * act (specification "Exchange" rules 3 and 5; supplement "Subject tokens"). A token of a machine is refused
 * (machine-token.ts). block.ts says when the service refuses a person. me-person.ts is a person who asks about
 * themselves.
 */

import { hasControl } from '../control-characters.ts';
import type { DenialReason } from '../denial.ts';
import { namesAgent, parseSponsorKey, type SponsorKey } from '../identifiers.ts';
import { type Instant, instantFromSeconds, toSeconds } from '../instant.ts';
import { isScopeToken, type Scope } from '../scope.ts';
import type { Claims } from '../tokens/claims.ts';
import { CLOCK_SKEW_SECONDS, type CompactJws, hasType } from '../tokens/compact-jws.ts';
import { isTextList, type JsonObject, member, textMember } from '../tokens/strict-json.ts';
import { machineMark } from './machine-token.ts';

const MAX_SUB_LENGTH = 256;
const MAX_SID_LENGTH = 256;

/**
 * Whether a token may be an access token. A provider signs other kinds of token with the same keys. So `typ` must name
 * an access token or be absent, and the token must be neither a security event token nor an ID token.
 */
export function isSubjectTokenType(jws: CompactJws): boolean {
  // RFC 9068 §2.1, and vendor variants of at+jwt.
  const accepted = jws.type === undefined || hasType(jws, ['jwt']) || /(^|[/-])at\+jwt$/i.test(jws.type);
  // RFC 8417 §2.2: the events claim marks a security event token, for example a logout token.
  return accepted && member(jws.claims.json, 'events') === undefined && !isIdToken(jws.claims.json);
}

/** The hashes of an access token and a code, which only an ID token has (OpenID Connect Core 1.0 §3.1.3.6, §3.3.2.11). */
const ID_TOKEN_CLAIMS = ['at_hash', 'c_hash'];

/**
 * Whether the claims say that it is an ID token. The person gave it to an application, not to an agent, and it may pass
 * through addresses (`id_token_hint`). A `nonce` does not tell it: some providers copy that into access tokens. Keycloak
 * writes the kind of a token into a claim `typ`.
 */
export function isIdToken(claims: JsonObject): boolean {
  return ID_TOKEN_CLAIMS.some((name) => member(claims, name) !== undefined) || member(claims, 'typ') === 'ID';
}

/** The person, as the identity provider's token describes them. */
export interface Person {
  /** `sub`: names the person in tokens and records. */
  readonly subject: string;
  /** Selects the person's tasks and blocks. */
  readonly sponsorKey: SponsorKey;
  /** The identity provider's session (`sid`), if the token or the sign-in named one. */
  readonly sessionId: string | undefined;
  /** `iat`, a whole second, 1970 at the earliest. */
  readonly issuedAt: Instant | undefined;
  /** `auth_time`, a whole second, 1970 at the earliest: when the person signed in. */
  readonly authenticatedAt: Instant | undefined;
  /** The person's own scopes; an agent never gets more. */
  readonly scope: Scope;
}

/** The person, the session and the `iat` of a subject token. */
export type SubjectSession = Pick<Person, 'subject' | 'sessionId' | 'issuedAt'>;

export type SubjectReason = Extract<DenialReason, `subject_${string}` | 'sponsor_key_missing'>;
export type SubjectVerdict =
  | { readonly kind: 'accepted'; readonly person: Person }
  | {
      readonly kind: 'refused';
      /** At least one, in the order of the checks: the first is the reason of the refusal. */
      readonly faults: readonly SubjectReason[];
      /** The `sub` of the person; `undefined` if a check up to `sub` failed. */
      readonly subject: string | undefined;
    };

/** The values that the claims are compared with. */
interface Expectations {
  readonly issuer: string;
  readonly audience: string;
  /** A token whose `aud` also names this audience is refused. */
  readonly foreignAudience?: string | undefined;
  readonly sponsorKeyClaim: string;
  /** Whether a token that is bound to a key is refused: only an access token, which is presented here without that key. */
  readonly refuseBound?: boolean;
  /** The claim that holds the person's scopes, in place of `scope` and `scp`. */
  readonly scopeClaim?: string | undefined;
  readonly now: Instant;
  /** The later of two clocks: no instance whose clock is behind takes an expired token. */
  readonly latest: Instant;
}

/**
 * Runs every check. Their order is the order of the supplement's list of reasons, and decides which reason is recorded.
 */
export function judgeSubjectToken(
  { issuer, expiry, issuedAt: issued, notBefore, audience = [], json: claims }: Claims,
  expected: Expectations,
): SubjectVerdict {
  const faults: SubjectReason[] = [];
  const now = toSeconds(expected.now);

  if (issuer !== expected.issuer) faults.push('subject_untrusted_issuer');
  if (expiry === undefined) faults.push('subject_missing_expiry');
  else if (expiry + CLOCK_SKEW_SECONDS <= toSeconds(expected.latest)) faults.push('subject_expired');
  const starts = Math.max(notBefore ?? now, issued ?? now);
  if (starts > now + CLOCK_SKEW_SECONDS) faults.push('subject_not_yet_valid');
  const isForeign = expected.foreignAudience !== undefined && audience.includes(expected.foreignAudience);
  if (!audience.includes(expected.audience) || isForeign) faults.push('subject_audience_mismatch');

  const sub = judgeSub(claims);
  if (sub.fault !== undefined) faults.push(sub.fault);
  // A refusal names the person only if every check up to sub has passed: before that, the sub is not trusted.
  const subject = faults.length === 0 ? sub.subject : undefined;
  // Exchanging a delegated token would drop its first delegate from the new token (RFC 8693 §4.1).
  if (member(claims, 'act') !== undefined) faults.push('subject_already_delegated');

  // RFC 7800 §3.1. Without the proof of possession (RFC 9449, RFC 8705) it would pass as a bearer token. `cnf` may have any form.
  const isBound = (member(claims, 'cnf') ?? undefined) !== undefined;
  if (expected.refuseBound && isBound) faults.push('subject_bound_to_key');

  const sponsorKey = parseSponsorKey(textMember(claims, expected.sponsorKeyClaim) ?? '');
  // An unusable sub that is also the sponsor key is one fault, not two.
  const isReported = sub.fault !== undefined && expected.sponsorKeyClaim === 'sub';
  if (sponsorKey === undefined && !isReported) faults.push('sponsor_key_missing');
  // A logout could not end a session whose id is unusable: refuse the token rather than drop its sid.
  const sessionId = member(claims, 'sid') ?? undefined;
  const isSessionUsable = sessionId === undefined || isUsableSession(sessionId);
  if (!isSessionUsable) faults.push('subject_malformed');

  if (faults.length > 0 || subject === undefined || sponsorKey === undefined || !isSessionUsable) {
    return { kind: 'refused', faults, subject };
  }
  // An iat may be any safe integer, but databases cannot store all of them as times: an earlier one becomes 1970.
  const issuedAt = issued === undefined ? undefined : instantFromSeconds(Math.max(0, issued));
  const authenticatedAt = authenticationTime(claims);
  const scope = personScope(claims, expected.scopeClaim);
  return { kind: 'accepted', person: { subject, sponsorKey, sessionId, issuedAt, authenticatedAt, scope } };
}

/** OpenID Connect Core §2. A value that is not a whole number of seconds counts as absent. */
function authenticationTime(claims: JsonObject): Instant | undefined {
  const seconds = member(claims, 'auth_time');
  return typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds >= 0
    ? instantFromSeconds(seconds)
    : undefined;
}

type SubVerdict =
  | { readonly subject: string; readonly fault?: undefined }
  | { readonly subject?: undefined; readonly fault: SubjectReason };

function judgeSub(claims: JsonObject): SubVerdict {
  const sub = member(claims, 'sub');
  if (sub === undefined) return { fault: 'subject_missing_subject' };
  if (typeof sub !== 'string' || sub.length < 1 || sub.length > MAX_SUB_LENGTH || hasControl(sub)) {
    return { fault: 'subject_sub_malformed' };
  }
  if (namesAgent(sub)) return { fault: 'subject_is_agent' };
  return machineMark(claims) === undefined ? { subject: sub } : { fault: 'subject_not_a_person' };
}

function isUsableSession(value: unknown): value is string {
  return typeof value === 'string' && value.length >= 1 && value.length <= MAX_SID_LENGTH && !hasControl(value);
}

/**
 * Reads `scope`; only if it is absent or null, `scp`; or the one named claim in place of both. Each is a text or a list. A
 * token without them grants nothing (supplement "Subject tokens").
 */
export function personScope(claims: JsonObject, scopeClaim?: string): Scope {
  const claim =
    scopeClaim === undefined ? (member(claims, 'scope') ?? member(claims, 'scp')) : member(claims, scopeClaim);
  const names = typeof claim === 'string' ? claim.split(' ') : isTextList(claim) ? claim : [];
  return [...new Set(names.filter(isScopeToken))];
}
