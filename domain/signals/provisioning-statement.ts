/**
 * The statements about people that a write of a user makes (specification "/scim/v2", effect per write). The person is
 * the value of the sponsor key attribute. A write that changes it is about two people, the new one and the previous.
 */

import type { SponsorKey } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { ProvisionedUser } from './provisioned-user.ts';

/**
 * - `disabled`, `deleted`: the person is refused, and their tasks end.
 * - `active`: the SCIM block is lifted, unless another user of the same person is inactive.
 * - `left`: the user named this person before, and names another now. The person's other users decide: one inactive user
 *   is enough to refuse the person. A person without another user counts as deleted, and their tasks end: a later
 *   deactivation of this user would not reach those tasks.
 * - `left_inactive`: as `left`, but the user is inactive now. The person is refused even if their other users are active.
 */
type ProvisionedState = 'disabled' | 'deleted' | 'active' | 'left' | 'left_inactive';

export interface ProvisioningStatement {
  readonly sponsorKey: SponsorKey;
  readonly state: ProvisionedState;
  /** Whether it differs from this user's previous statement. A repeated statement can still place or lift a block. */
  readonly isNew: boolean;
}

type Subject = Pick<ProvisionedUser, 'sponsorKey' | 'active'>;

/** @param before `undefined` for a create. @param after `undefined` for a removal */
export function statementsOf(
  before: Subject | undefined,
  after: Subject | undefined,
): readonly ProvisioningStatement[] {
  const left = before !== undefined && before.sponsorKey !== after?.sponsorKey ? before : undefined;
  if (after === undefined) return left === undefined ? [] : [{ ...about(left), state: 'deleted', isNew: true }];
  // A user that names a person for the first time does not reactivate that person.
  const activeChanged = left === undefined && before !== undefined && before.active !== after.active;
  if (after.active) {
    const now = { ...about(after), state: 'active', isNew: activeChanged } as const;
    return left === undefined ? [now] : [{ ...about(left), state: 'left', isNew: true }, now];
  }
  const now = {
    ...about(after),
    state: 'disabled',
    isNew: activeChanged || before?.sponsorKey !== after.sponsorKey,
  } as const;
  return left === undefined ? [now] : [{ ...about(left), state: 'left_inactive', isNew: left.active }, now];
}

/**
 * The statements that take effect even if the service has no room for a created user: deactivations (supplement
 * "SCIM"). They are not new, since no user is stored: a repeated create adds no record unless it changes something.
 */
export function statementsWithoutRoom(statements: readonly ProvisioningStatement[]): readonly ProvisioningStatement[] {
  return statements.flatMap((said) => (said.state === 'disabled' ? [{ ...said, isNew: false }] : []));
}

function about({ sponsorKey }: Subject): { readonly sponsorKey: SponsorKey } {
  return { sponsorKey };
}

/** Counts of a person's users, without the written one. */
export interface OtherUsers {
  readonly users: number;
  readonly inactive: number;
}

/** `still_inactive`: the user became active, but another user of the person is inactive, so nothing is lifted. */
export interface HeldStatement extends Omit<ProvisioningStatement, 'state'> {
  readonly state: Exclude<ProvisionedState, 'left' | 'left_inactive'> | 'still_inactive';
}

/** The statement that takes effect in view of the person's other users. */
export function heldStatement(statement: ProvisioningStatement, others: OtherUsers): HeldStatement {
  const { sponsorKey, state, isNew } = statement;
  switch (state) {
    case 'disabled':
    case 'deleted':
      return { sponsorKey, state, isNew };
    case 'active':
      return { sponsorKey, state: others.inactive > 0 ? 'still_inactive' : state, isNew };
    case 'left':
      if (others.users === 0) return { sponsorKey, state: 'deleted', isNew };
      return { sponsorKey, state: others.inactive > 0 ? 'disabled' : 'active', isNew: false };
    case 'left_inactive':
      return { sponsorKey, state: others.users === 0 ? 'deleted' : 'disabled', isNew };
  }
}

/**
 * A create of an active user is a statement about the person: it replaces their inactive users (supplement "SCIM"). A
 * directory may rename a person by deactivating one user and creating another.
 */
export function superseding(statements: readonly ProvisioningStatement[]): readonly ProvisioningStatement[] {
  return statements.map((said) => ({ ...said, isNew: true }));
}

/** The reason of `sponsor.signal`. The first two are also the reason for each task that ends. */
export const SIGNAL_REASONS = {
  disabled: 'scim_deactivated',
  deleted: 'scim_deleted',
  active: 'scim_reactivated',
  still_inactive: 'scim_still_inactive',
} as const satisfies Record<HeldStatement['state'], string>;

/** The entry of the ledger. */
export function signalOf({ sponsorKey, state }: HeldStatement, at: Instant) {
  const reason = SIGNAL_REASONS[state];
  return { at, event: 'sponsor.signal', sponsor: sponsorKey, decision: 'allow', reason } as const;
}
