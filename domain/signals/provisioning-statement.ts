/**
 * What a write of a user says about people (specification "/scim/v2", effect per write). A person is the value of the
 * attribute that names them, so a write that changes it is about two: the one it names now, and the one it leaves.
 */

import type { SponsorKey } from '../identifiers.ts';
import type { Instant } from '../instant.ts';
import type { LedgerEntry } from '../ledger/record.ts';
import type { ProvisionedUser } from './provisioned-user.ts';

/**
 * - `disabled`, `deleted`: they are refused, and their tasks end.
 * - `active`: a block of this source is lifted, unless another user of the same person is inactive.
 * - `left`: what holds for them is what their other users say: refused while one is inactive. With none left they are
 *   refused like a person whose user was deleted. Their tasks were opened under a name that no later deactivation of
 *   this user would reach.
 * - `left_inactive`: the user that leaves them is inactive now. They are refused even where their other users are active.
 */
type ProvisionedState = 'disabled' | 'deleted' | 'active' | 'left' | 'left_inactive';

export interface ProvisioningStatement {
  readonly sponsorKey: SponsorKey;
  readonly state: ProvisionedState;
  /** Whether it differs from what the same user said before; one that does not may still change what holds. */
  readonly isNew: boolean;
}

type Subject = Pick<ProvisionedUser, 'sponsorKey' | 'active'>;

/** @param before `undefined` for a create; a removal has no `after` */
export function statementsOf(
  before: Subject | undefined,
  after: Subject | undefined,
): readonly ProvisioningStatement[] {
  const left = before !== undefined && before.sponsorKey !== after?.sponsorKey ? before : undefined;
  if (after === undefined) return left === undefined ? [] : [{ ...about(left), state: 'deleted', isNew: true }];
  // Somebody who is new here is not *re*activated.
  const turned = left === undefined && before !== undefined && before.active !== after.active;
  if (after.active) {
    const now = { ...about(after), state: 'active', isNew: turned } as const;
    return left === undefined ? [now] : [{ ...about(left), state: 'left', isNew: true }, now];
  }
  const now = { ...about(after), state: 'disabled', isNew: turned || before?.sponsorKey !== after.sponsorKey } as const;
  return left === undefined ? [now] : [{ ...about(left), state: 'left_inactive', isNew: left.active }, now];
}

/**
 * The part of a create's statements that holds although the service has no room for the user (decisions "SCIM"): a
 * deactivation. It is not new, since no user is stored: a repeated create records nothing unless it changes something.
 */
export function statementsWithoutRoom(statements: readonly ProvisioningStatement[]): readonly ProvisioningStatement[] {
  return statements.flatMap((said) => (said.state === 'disabled' ? [{ ...said, isNew: false }] : []));
}

function about({ sponsorKey }: Subject): { readonly sponsorKey: SponsorKey } {
  return { sponsorKey };
}

/** What a person's other users say. */
export interface OtherUsers {
  readonly users: number;
  readonly inactive: number;
}

export type HeldStatement = ProvisioningStatement & {
  readonly state: Exclude<ProvisionedState, 'left' | 'left_inactive'>;
};

/** What then holds for the person; `undefined` when the write leaves that to their other users. */
export function heldStatement(statement: ProvisioningStatement, others: OtherUsers): HeldStatement | undefined {
  const { sponsorKey, state, isNew } = statement;
  switch (state) {
    case 'disabled':
    case 'deleted':
      return { sponsorKey, state, isNew };
    case 'active':
      return others.inactive > 0 ? undefined : { sponsorKey, state, isNew };
    case 'left':
      if (others.users === 0) return { sponsorKey, state: 'deleted', isNew };
      return { sponsorKey, state: others.inactive > 0 ? 'disabled' : 'active', isNew: false };
    case 'left_inactive':
      return { sponsorKey, state: others.users === 0 ? 'deleted' : 'disabled', isNew };
  }
}

/** The reason on `sponsor.signal`, and for the first two on each task that ends. */
export const SIGNAL_REASONS = {
  disabled: 'scim_deactivated',
  deleted: 'scim_deleted',
  active: 'scim_reactivated',
} as const satisfies Record<HeldStatement['state'], string>;

export function signalOf({ sponsorKey, state }: HeldStatement, at: Instant): LedgerEntry {
  return { at, event: 'sponsor.signal', sponsor: sponsorKey, decision: 'allow', reason: SIGNAL_REASONS[state] };
}
