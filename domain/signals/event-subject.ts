/**
 * Whom a security event is about (RFC 9493; specification "POST /events"). A subject may stand in several places; all of
 * them have to be readable and to name the same person. So has a `sub` (RFC 8417 §2.2), which names nobody by itself.
 */

import type { SponsorKey } from '../identifiers.ts';
import { parseSponsorKey } from '../sponsors/sponsor-key.ts';
import { textClaim } from '../tokens/compact-jws.ts';
import { isJsonObject, type Json, type JsonObject, member } from '../tokens/strict-json.ts';

type SubjectFault = 'ambiguous_subject' | 'no_usable_subject' | 'unsupported_subject_format' | 'keys_unavailable';

export type SubjectsVerdict =
  | { readonly kind: 'person'; readonly sponsorKey: SponsorKey }
  | { readonly kind: 'refused'; readonly check: SubjectFault };

type Reading =
  | { readonly kind: 'person'; readonly sponsorKey: SponsorKey }
  | { readonly kind: 'unusable' }
  | { readonly kind: 'unsupported' }
  /** Whose person it is cannot be said while the identity provider is not known. */
  | { readonly kind: 'unknown_issuer' };

/**
 * @param places what stands where a subject may; `undefined` where nothing does
 * @param sub the token's `sub`; `undefined` in nearly all of them
 * @param upstreamIssuer the identity provider whose people have tasks here; `undefined` while it is not known
 */
export function readSubjects(
  places: readonly (Json | undefined)[],
  sub: Json | undefined,
  upstreamIssuer: string | undefined,
): SubjectsVerdict {
  const refused = (check: SubjectFault) => ({ kind: 'refused', check }) as const;
  const readings = places.flatMap((place) => (place === undefined ? [] : [readSubject(place, upstreamIssuer)]));
  const has = (kind: Reading['kind']) => readings.some((reading) => reading.kind === kind);
  const people = new Set(readings.flatMap((reading) => (reading.kind === 'person' ? [reading.sponsorKey] : [])));

  const [sponsorKey] = people;
  const isAnother = typeof sub === 'string' && sponsorKey !== undefined && sub !== sponsorKey;
  if (people.size > 1 || isAnother) return refused('ambiguous_subject');
  const isUnreadable = sub !== undefined && typeof sub !== 'string';
  if (readings.length === 0 || has('unusable') || isUnreadable) return refused('no_usable_subject');
  if (has('unsupported')) return refused('unsupported_subject_format');
  if (sponsorKey === undefined || has('unknown_issuer')) return refused('keys_unavailable');
  return { kind: 'person', sponsorKey };
}

function readSubject(value: Json, upstreamIssuer: string | undefined): Reading {
  if (!isJsonObject(value)) return { kind: 'unusable' };
  if (!isComplex(value)) return readIdentifier(value, upstreamIssuer);
  const user = member(value, 'user');
  return isJsonObject(user) ? readIdentifier(user, upstreamIssuer) : { kind: 'unusable' };
}

/** Shared Signals Framework 1.0 §2: members by the kind of thing they name. Drafts of it left `format` out. */
function isComplex(subject: JsonObject): boolean {
  const format = member(subject, 'format');
  return format === 'complex' || (format === undefined && member(subject, 'user') !== undefined);
}

function readIdentifier(subject: JsonObject, upstreamIssuer: string | undefined): Reading {
  switch (member(subject, 'format')) {
    case 'iss_sub': {
      if (upstreamIssuer === undefined) return { kind: 'unknown_issuer' };
      // Somebody of the same name elsewhere is somebody else.
      return textClaim(subject, 'iss') === upstreamIssuer ? personOf(textClaim(subject, 'sub')) : { kind: 'unusable' };
    }
    case 'opaque':
      return personOf(textClaim(subject, 'id'));
    default:
      return { kind: 'unsupported' };
  }
}

function personOf(text: string | undefined): Reading {
  const sponsorKey = text === undefined ? undefined : parseSponsorKey(text);
  return sponsorKey === undefined ? { kind: 'unusable' } : { kind: 'person', sponsorKey };
}
