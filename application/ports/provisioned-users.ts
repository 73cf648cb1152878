import type { UserId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import type { ProvisioningStatement } from '../../domain/signals/provisioning-statement.ts';
import type { PersonAttribute } from '../../domain/signals/user-attribute.ts';

export interface UsersQuestion {
  /** `userName` is compared without regard to case, `externalId` exactly. */
  readonly match?: { readonly attribute: PersonAttribute; readonly value: string } | undefined;
  /** The number of matches to skip. */
  readonly skip: number;
  readonly limit: number;
}

export interface UsersPage {
  readonly users: readonly ProvisionedUser[];
  /** The number of matches on all pages. */
  readonly total: number;
}

/** The statements of a write about people, and its time. */
export interface ProvisioningEffects {
  readonly statements: readonly ProvisioningStatement[];
  readonly at: Instant;
}

/**
 * The provisioned users. Each write is one decision in one transaction. It locks the people concerned before it reads
 * anything. Then it writes the user and applies the effects of its statements, or writes nothing.
 *
 * - A refused person is blocked with source `scim`, even if another source has blocked them. Their live tasks end,
 *   recorded as Tasks.revokeByGrant says. An existing block of this source takes the new kind and keeps its time.
 * - An active person loses the block of this source, unless another user of theirs is inactive. Blocks of other sources
 *   never change.
 * - A `sponsor.signal` entry precedes the entries of its effects. A repeated statement without an effect has none.
 *
 * All methods may throw StorageUnavailable; whether a write was applied is then unknown.
 */
export interface ProvisionedUsers {
  find(userId: UserId): Promise<ProvisionedUser | undefined>;

  /** In the order of ids, which is the order of creation. */
  list(question: UsersQuestion): Promise<UsersPage>;

  /**
   * Adds a user. `uniqueness`: another user has the name. `full`: there are `maxUsers` already; concurrent creates
   * never exceed it. An inactive user's person is blocked even then, in the same transaction (`statementsWithoutRoom`).
   */
  create(
    user: ProvisionedUser,
    effects: ProvisioningEffects,
    maxUsers: number,
  ): Promise<'created' | 'uniqueness' | 'full'>;

  /**
   * Compare-and-swap: replaces `stored` by `user` if its revision is still the stored one. `gone`: the user does not
   * exist any more.
   */
  replace(
    stored: ProvisionedUser,
    user: ProvisionedUser,
    effects: ProvisioningEffects,
  ): Promise<'replaced' | 'uniqueness' | 'changed' | 'gone'>;

  /** Compare-and-swap, as `replace`. */
  remove(stored: ProvisionedUser, effects: ProvisioningEffects): Promise<'removed' | 'changed' | 'gone'>;
}
