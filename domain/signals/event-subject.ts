/**
 * The person whom a security event is about (RFC 9493; specification "POST /events"). A token can hold a subject in
 * several places. All of them must be readable and name the same person. A `sub` must do so too (RFC 8417 §2.2), but a
 * token with only a `sub` is refused.
 */

import { parseSponsorKey, type SponsorKey } from '../identifiers.ts';
import { isJsonObject, type Json, type JsonObject, member, textMember } from '../tokens/strict-json.ts';

type SubjectFault = 'ambiguous_subject' | 'no_usable_subject' | 'unsupported_subject_format' | 'keys_unavailable';

/** The formats of the identifiers that can name a person (RFC 9493). */
type IdentifierFormat = 'iss_sub' | 'opaque';

type SubjectsVerdict =
  /** `formats` are those of the identifiers that name the person, each once, in the order of the places. */
  | { readonly kind: 'person'; readonly sponsorKey: SponsorKey; readonly formats: readonly IdentifierFormat[] }
  | { readonly kind: 'refused'; readonly check: SubjectFault };

/** The `iss` of the identity provider's tokens. Its access tokens may have another `iss` than its ID tokens (AD FS). */
export interface UpstreamIssuers {
  readonly known: readonly string[];
  /** `false` until the provider's metadata has been read, which may name another one. */
  readonly isComplete: boolean;
}

type Reading =
  | { readonly kind: 'person'; readonly sponsorKey: SponsorKey; readonly format: IdentifierFormat }
  | { readonly kind: 'unusable' }
  /** One subject has several identifiers that could name a person. */
  | { readonly kind: 'ambiguous' }
  | { readonly kind: 'unsupported' }
  /** The `iss` of an `iss_sub` may be an issuer of the identity provider that is not known yet. */
  | { readonly kind: 'unknown_issuer' };

/**
 * @param places the values at the places where a token can hold a subject; `undefined` for an empty place
 * @param sub the token's `sub`, which most security event tokens lack
 * @param upstream the issuers of the provider that signs this service's subject tokens
 */
export function readSubjects(
  places: readonly (Json | undefined)[],
  sub: Json | undefined,
  upstream: UpstreamIssuers,
): SubjectsVerdict {
  const refused = (check: SubjectFault) => ({ kind: 'refused', check }) as const;
  const readings = places.flatMap((place) => (place === undefined ? [] : [readSubject(place, upstream)]));
  const has = (kind: Reading['kind']) => readings.some((reading) => reading.kind === kind);
  const named = readings.flatMap((reading) => (reading.kind === 'person' ? [reading] : []));
  const people = new Set(named.map(({ sponsorKey }) => sponsorKey));

  const [sponsorKey] = people;
  const isAnother = typeof sub === 'string' && sponsorKey !== undefined && sub !== sponsorKey;
  if (people.size > 1 || has('ambiguous') || isAnother) return refused('ambiguous_subject');
  const isUnreadable = sub !== undefined && typeof sub !== 'string';
  if (readings.length === 0 || has('unusable') || isUnreadable) return refused('no_usable_subject');
  if (has('unsupported')) return refused('unsupported_subject_format');
  if (sponsorKey === undefined || has('unknown_issuer')) return refused('keys_unavailable');
  return { kind: 'person', sponsorKey, formats: [...new Set(named.map(({ format }) => format))] };
}

function readSubject(subject: Json, upstream: UpstreamIssuers): Reading {
  if (!isJsonObject(subject)) return { kind: 'unusable' };
  const user = member(subject, 'user');
  switch (member(subject, 'format')) {
    case 'complex':
      // Shared Signals Framework 1.0 §3. `tenant`, `device` and `session` are ignored: all of the person's tasks end.
      return isJsonObject(user) ? readUser(user, upstream) : { kind: 'unusable' };
    case undefined:
      // Drafts of the framework had no `format`, and Okta still sends none.
      if (user === undefined) return { kind: 'unsupported' };
      return isJsonObject(user) ? readIdentifier(user, upstream) : { kind: 'unusable' };
    default:
      return readUser(subject, upstream);
  }
}

function readUser(subject: JsonObject, upstream: UpstreamIssuers): Reading {
  return member(subject, 'format') === 'aliases'
    ? readAliases(member(subject, 'identifiers'), upstream)
    : readIdentifier(subject, upstream);
}

/**
 * RFC 9493 §3.2.8: several identifiers of one subject. Exactly one of them must be `opaque`, or `iss_sub` of the identity
 * provider (supplement "Shared Signals"). Two such identifiers are ambiguous even if they are equal.
 */
function readAliases(identifiers: Json | undefined, upstream: UpstreamIssuers): Reading {
  if (!Array.isArray(identifiers) || identifiers.length === 0) return { kind: 'unusable' };
  const aliases = identifiers.filter((one: Json): one is JsonObject => isJsonObject(one));
  if (aliases.length < identifiers.length) return { kind: 'unusable' };
  const withFormat = (format: string) => aliases.filter((alias) => member(alias, 'format') === format);
  const [opaque, byIssuer] = [withFormat('opaque'), withFormat('iss_sub')];
  if (opaque.length > 1) return { kind: 'ambiguous' };
  const own = byIssuer.filter((alias) => isUpstream(alias, upstream));
  if (own.length < byIssuer.length && !upstream.isComplete) return { kind: 'unknown_issuer' };
  const candidates = [...opaque, ...own];
  const [candidate] = candidates;
  if (candidates.length > 1) return { kind: 'ambiguous' };
  if (candidate !== undefined) return readIdentifier(candidate, upstream);
  return { kind: byIssuer.length > 0 ? 'unusable' : 'unsupported' };
}

function readIdentifier(subject: JsonObject, upstream: UpstreamIssuers): Reading {
  const format = member(subject, 'format');
  switch (format) {
    case 'iss_sub':
      if (isUpstream(subject, upstream)) return personOf(textMember(subject, 'sub'), format);
      // The same `sub` at another issuer is another person.
      return { kind: upstream.isComplete ? 'unusable' : 'unknown_issuer' };
    case 'opaque':
      return personOf(textMember(subject, 'id'), format);
    default:
      return { kind: 'unsupported' };
  }
}

function isUpstream(subject: JsonObject, { known }: UpstreamIssuers): boolean {
  const issuer = textMember(subject, 'iss');
  return issuer !== undefined && known.includes(issuer);
}

function personOf(text: string | undefined, format: IdentifierFormat): Reading {
  const sponsorKey = text === undefined ? undefined : parseSponsorKey(text);
  return sponsorKey === undefined ? { kind: 'unusable' } : { kind: 'person', sponsorKey, format };
}
