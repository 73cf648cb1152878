/**
 * What is counted and timed of a running service, for whoever watches it. Nothing that was sent is ever told to it: what
 * it is told are words of closed sets. No method throws, or waits for anything.
 */

import type { DenialReason } from '../../domain/denial.ts';
import type { AnonymousDenial } from '../../domain/ledger/aggregation.ts';
import type { LedgerEvent } from '../../domain/ledger/record.ts';

/** Which part of the service a request was for, by its path alone. */
export const surfaces = [
  'token',
  'introspection',
  'revocation',
  'admin',
  'audit',
  'scim',
  'events',
  'backchannel_logout',
  'health',
  'keys',
  'other',
] as const;
export type Surface = (typeof surfaces)[number];

export const outcomes = [
  /** Answered 2xx or 3xx. */
  'ok',
  /** What was asked for is refused, malformed or not there: 4xx. */
  'refused',
  'rate_limited',
  'overloaded',
  /** 503: the database, the identity provider or an agent's keys were not there to decide by. */
  'unavailable',
  /** 5xx: nobody can answer for it. */
  'failed',
  /** The client left before its answer was out. */
  'aborted',
] as const;
export type RequestOutcome = (typeof outcomes)[number];

/** A refusal of the admin API that its own transaction records. */
type ConflictReason = 'agent_already_exists' | 'agent_has_tasks' | 'sponsor_block_not_owned';

/** What is admitted apart from the rest: buckets of the rate limits, and kinds of work that have their turns. */
type AdmissionKind =
  | { readonly reason: 'rate_limited'; readonly kind: 'main' | 'introspection' | 'logout' | 'scim' | 'events' }
  | { readonly reason: 'overloaded'; readonly kind: 'token' | 'introspection' | 'revoking' | 'proof' | 'other' };

export interface Measurements {
  /** @param seconds from when its head had been read until its answer was out */
  answered(surface: Surface, outcome: RequestOutcome, seconds: number): void;

  /** A request was not let in. It is answered as well, and denied. */
  notAdmitted(refusal: AdmissionKind): void;

  /** A denial was recorded, or counted for a summary. */
  denied(event: LedgerEvent, reason: DenialReason | AnonymousDenial['reason'] | ConflictReason): void;
}
