/**
 * What a use case answers. A refusal is a value, never an exception; what nobody can answer for (the database gone, a
 * bug) is thrown.
 */

import type { DenialReason } from '../domain/denial.ts';
import type { AgentId, SponsorKey, TaskId } from '../domain/identifiers.ts';
import type { SpentAssertion } from './ports/tasks.ts';

export type Outcome<T> = Allowed<T> | Denied;

export interface Allowed<T> {
  readonly kind: 'allowed';
  readonly value: T;
}

export interface Denied {
  readonly kind: 'denied';
  readonly denial: Denial;
}

export interface Denial {
  readonly reason: DenialReason;
  /** A public sentence that says more than the reason's own; fixed text, nothing that was sent. */
  readonly detail?: string | undefined;
  /** Whom and what the record names. Nothing before an assertion's signature has verified. */
  readonly about?: DenialSubject | undefined;
  /** The verified assertion this refusal uses up. */
  readonly assertion?: SpentAssertion | undefined;
  /** Set once the person has been found acceptable but for the list of blocks, which the recording reads. */
  readonly sponsorKey?: SponsorKey | undefined;
}

export interface DenialSubject {
  readonly agentId?: AgentId | undefined;
  readonly taskId?: TaskId | undefined;
  readonly sponsor?: string | undefined;
  /** As requested. */
  readonly audience?: string | undefined;
  /** As requested. */
  readonly scope?: string | undefined;
}

export function allowed<T>(value: T): Allowed<T> {
  return { kind: 'allowed', value };
}

export function denied(reason: DenialReason, more: Omit<Denial, 'reason'> = {}): Denied {
  return { kind: 'denied', denial: { reason, ...more } };
}
