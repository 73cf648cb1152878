/**
 * The result of a use case. A refusal is a value, never an exception. Failures (the database is unavailable, a bug)
 * are thrown.
 *
 * A use case is one file here, in the folder of its caller: `token` for agents, `admin` for operators, `me` for
 * people, `signals` for the identity provider. It authenticates (`authentication`), checks, and hands the change to
 * one decision (`decisions`), which storage runs in a transaction. `ports` has the interfaces of everything outside.
 * Jobs run `ledger` (sealing, delivery, archives), `log` (the transparency log) and `upkeep` (expiry). `doctor`
 * examines a deployment.
 */

import type { DenialReason } from '../domain/denial.ts';
import type { SponsorKey } from '../domain/identifiers.ts';
import type { LedgerEntry } from '../domain/ledger/record.ts';
import type { GrantHash } from '../domain/tasks/task.ts';
import type { SpentAssertion } from './decisions/assertion.ts';
import type { Refusal } from './decisions/refuse.ts';

export type Outcome<T> = Allowed<T> | Denied;

interface Allowed<T> {
  readonly kind: 'allowed';
  readonly value: T;
}

export interface Denied {
  readonly kind: 'denied';
  readonly denial: Denial;
}

export interface Denial {
  readonly reason: DenialReason;
  /** Seconds after which the client may retry, if that depends on the request. */
  readonly retryAfter?: number | undefined;
  /** Set if the decision has recorded it: no other record is written. */
  readonly isRecorded?: boolean | undefined;
  /** A more specific public sentence than the reason's; fixed text, nothing from the request. */
  readonly detail?: string | undefined;
  /** The agent, person and task that the record names. Empty until an assertion's signature has verified. */
  readonly about?: DenialSubject | undefined;
  /** The verified assertion that this refusal uses up; `undefined` if the client may send it again. */
  readonly assertion?: SpentAssertion | undefined;
  /** Set if the person passed all other checks: the transaction that records the denial checks for a new block. */
  readonly sponsorKey?: SponsorKey | undefined;
  /**
   * Set at a refresh of a task that its person started. Its end is then answered as `invalid_grant` with its reason: the clients
   * of people ask the person again after that error alone.
   */
  readonly isOfPersonsStart?: boolean | undefined;
  /** Set if a plain read did not find this grant of the agent: the transaction that records the denial looks again. */
  readonly unknownGrant?: GrantHash | undefined;
  /** Set if a code was presented that fits: the transaction that records the denial spends it. */
  readonly spentCode?: Refusal['spentCode'];
  /** Set if a used code or an older grant was presented: the transaction that records the denial ends its task. */
  readonly misusedTask?: Refusal['misusedTask'];
}

/** The audience and the scopes are those that the request names, or those of the code that it has. */
export type DenialSubject = Pick<LedgerEntry, 'agentId' | 'taskId' | 'sponsor' | 'audience' | 'scope' | 'detail'>;

export function allowed<T>(value: T): Allowed<T> {
  return { kind: 'allowed', value };
}

export function denied(reason: DenialReason, more: Omit<Denial, 'reason'> = {}): Denied {
  return { kind: 'denied', denial: { reason, ...more } };
}
