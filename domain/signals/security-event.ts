/**
 * The claims of a security event token whose signature has verified (RFC 8417; specification "POST /events"): the
 * events and their person. The order of the checks is the order of the supplement's list of reasons.
 *
 * This folder reads three kinds of signals about people. Signed ones are security events (here; event-subject.ts finds
 * the person) and logouts (logout-token.ts); signal-claims.ts has the claims of both. The third is a provisioned user:
 * user-resource.ts, user-patch.ts and user-filter.ts read what a SCIM client sends, provisioned-user.ts has the user,
 * and provisioning-statement.ts says what a write means for people.
 */

import type { SponsorKey } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { BlockKind } from '../sponsors/block.ts';
import { type CompactJws, hasType } from '../tokens/compact-jws.ts';
import { isJsonObject, type JsonObject, member } from '../tokens/strict-json.ts';
import { readSubjects, type UpstreamIssuers } from './event-subject.ts';
import { type ExpectedSignal, judgeSignalClaims, MAX_SIGNAL_IDENTIFIER, type SignalUse } from './signal-claims.ts';

/** The reasons of `signal.denied` at this receiver (supplement "Reasons"). */
export const securityEventDenialReasons = [
  'ssf_malformed',
  'ssf_unsupported_algorithm',
  'ssf_keys_unavailable',
  'ssf_unknown_key',
  'ssf_key_mismatch',
  'ssf_invalid_signature',
  'ssf_untrusted_issuer',
  'ssf_audience_mismatch',
  'ssf_missing_issued_at',
  'ssf_not_yet_valid',
  'ssf_too_old',
  'ssf_missing_jti',
  'ssf_expired',
  'ssf_not_a_security_event',
  'ssf_ambiguous_subject',
  'ssf_no_usable_subject',
  'ssf_unsupported_subject_format',
] as const;
export type SecurityEventDenialReason = (typeof securityEventDenialReasons)[number];

/** The revocation reasons of the events that end tasks. */
type EndingReason = 'ssf_sessions_revoked' | 'ssf_account_disabled' | 'ssf_account_purged';

/** Reasons of `sponsor.signal` (specification "Audit events"). */
type SecuritySignalReason =
  | EndingReason
  | 'ssf_account_enabled'
  /**
   * An account-enabled event was stated before the block that it would lift: the block stays (supplement "Blocks, poll
   * mode, health").
   */
  | 'ssf_account_enabled_outdated';

/** The reasons that the token alone decides. Whether an account-enabled event is outdated depends on the stored block. */
type EventReason = Exclude<SecuritySignalReason, 'ssf_account_enabled_outdated'>;

/**
 * The handled events (CAEP 1.0 §3.1, RISC 1.0 §2, OAuth Event Types 1.0 §3), mildest first: the strictest event of a token
 * decides.
 */
const ACTED_ON: readonly (readonly [uri: string, reason: EventReason])[] = [
  ['https://schemas.openid.net/secevent/risc/event-type/account-enabled', 'ssf_account_enabled'],
  ['https://schemas.openid.net/secevent/caep/event-type/session-revoked', 'ssf_sessions_revoked'],
  // Older than CAEP's, which replaces it. Transmitters still send it.
  ['https://schemas.openid.net/secevent/risc/event-type/sessions-revoked', 'ssf_sessions_revoked'],
  ['https://schemas.openid.net/secevent/oauth/event-type/tokens-revoked', 'ssf_sessions_revoked'],
  ['https://schemas.openid.net/secevent/risc/event-type/account-disabled', 'ssf_account_disabled'],
  ['https://schemas.openid.net/secevent/risc/event-type/account-purged', 'ssf_account_purged'],
];
const BLOCKS: Readonly<Partial<Record<EventReason, BlockKind>>> = {
  ssf_account_disabled: 'disabled',
  ssf_account_purged: 'deleted',
};

/** Specification "POST /events". */
const MAX_AGE_SECONDS = 24 * 60 * 60;
const ACCEPTED_TYPES = ['secevent+jwt'];

/** The combined effect of a token's events on the one person they are about. */
export interface SecurityAction {
  readonly sponsorKey: SponsorKey;
  /** The token's `iat`. */
  readonly statedAt: Instant;
  /** One per handled event; at least one. */
  readonly reasons: readonly EventReason[];
  /** Lifts this receiver's own block, unless the block was stated later. A verdict with `lift` has no new block. */
  readonly lift: boolean;
  readonly block: BlockKind | undefined;
  /** Why the person's live tasks end; `undefined` if they continue. */
  readonly end: EndingReason | undefined;
}

/** What the record of such an event says if it ended nothing: words of closed sets, and never the subject itself. */
export interface EndingEvent {
  /** The URI. */
  readonly type: string;
  /** The formats of the identifiers that name the person, separated by spaces. */
  readonly format: string;
}

export type SecurityEventVerdict =
  | ({
      readonly kind: 'accepted';
      /** `undefined` if the token has no handled event. */
      readonly action: SecurityAction | undefined;
      /** The events that would end tasks. */
      readonly endings: readonly EndingEvent[];
    } & SignalUse)
  | { readonly kind: 'refused'; readonly reason: SecurityEventDenialReason };

/** @param expected its issuer is the transmitter */
export function judgeSecurityEvent(
  jws: CompactJws,
  expected: Omit<ExpectedSignal, 'maxAgeSeconds'> & { readonly upstream: UpstreamIssuers },
): SecurityEventVerdict {
  const refused = (reason: SecurityEventDenialReason) => ({ kind: 'refused', reason }) as const;

  const claims = jws.claims.json;
  const signal = judgeSignalClaims(jws.claims, { ...expected, maxAgeSeconds: MAX_AGE_SECONDS });
  if (signal.kind === 'refused') return refused(`ssf_${signal.check}`);
  const { jti, forgetAt, issuedAt } = signal;
  if (jti.length > MAX_SIGNAL_IDENTIFIER) return refused('ssf_missing_jti');
  const events = hasType(jws, ACCEPTED_TYPES) ? readEvents(claims) : undefined;
  if (events === undefined) return refused('ssf_not_a_security_event');
  // A token without handled events needs no readable subject: that of a verification event names the stream.
  if (events.length === 0) return { kind: 'accepted', jti, forgetAt, action: undefined, endings: [] };

  const places = [member(claims, 'sub_id'), ...events.flatMap(({ payload }) => placesIn(payload))];
  const subject = readSubjects(places, member(claims, 'sub'), expected.upstream);
  if (subject.kind === 'refused') return refused(`ssf_${subject.check}`);
  const reasons = events.map(({ reason }) => reason);
  const format = subject.formats.join(' ');
  const endings = events.flatMap(({ type, reason }) => (endsTasks(reason) ? [{ type, format }] : []));
  return { kind: 'accepted', jti, forgetAt, action: actionFor(subject.sponsorKey, issuedAt, reasons), endings };
}

interface ReadEvent {
  readonly type: string;
  readonly reason: EventReason;
  readonly payload: JsonObject;
}

/** RFC 8417 §2.2: an object of events by URI, each an object. Returns the handled ones, the strictest last. */
function readEvents(claims: JsonObject): readonly ReadEvent[] | undefined {
  const events = member(claims, 'events');
  if (!isJsonObject(events) || Object.keys(events).length === 0) return undefined;
  const read: ReadEvent[] = [];
  for (const [type, reason] of ACTED_ON) {
    const payload = member(events, type);
    if (payload === undefined) continue;
    if (!isJsonObject(payload)) return undefined;
    read.push({ type, reason, payload });
  }
  return read;
}

/** Drafts of the profiles put the subject into `subject`, and current transmitters still do. */
function placesIn(payload: JsonObject) {
  return [member(payload, 'subject'), member(payload, 'sub_id')];
}

function endsTasks(reason: EventReason): reason is EndingReason {
  return reason !== 'ssf_account_enabled';
}

function actionFor(sponsorKey: SponsorKey, statedAt: Instant, reasons: readonly EventReason[]): SecurityAction {
  const end = reasons.findLast(endsTasks);
  const block = end === undefined ? undefined : BLOCKS[end];
  const lift = reasons.includes('ssf_account_enabled') && block === undefined;
  return { sponsorKey, statedAt, reasons, lift, block, end };
}

/**
 * The reasons of the `sponsor.signal` records that name the person, in order.
 *
 * @param found.outdated the account-enabled lifted no block
 * @param found.isKnown `false`: the events that end tasks ended nothing (`WITHOUT_EFFECT`), and their records name no person
 */
export function reasonsOnRecord(
  { reasons }: SecurityAction,
  { outdated, isKnown }: { readonly outdated: boolean; readonly isKnown: boolean },
): readonly SecuritySignalReason[] {
  return reasons
    .filter((reason) => isKnown || !endsTasks(reason))
    .map((reason) => (outdated && reason === 'ssf_account_enabled' ? 'ssf_account_enabled_outdated' : reason));
}
