import type { UserId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import type { ProvisioningStatement } from '../../domain/signals/provisioning-statement.ts';
import type { PersonAttribute } from '../../domain/signals/user-attribute.ts';

export interface UsersQuestion {
  /** `userName` is compared in any case, `externalId` exactly. */
  readonly match?: { readonly attribute: PersonAttribute; readonly value: string } | undefined;
  /** How many to pass over. */
  readonly skip: number;
  readonly limit: number;
}

export interface UsersPage {
  readonly users: readonly ProvisionedUser[];
  /** How many match, on whatever page. */
  readonly total: number;
}

/** What a write says about people, and when it was said. */
export interface ProvisioningNews {
  readonly statements: readonly ProvisioningStatement[];
  readonly at: Instant;
}

/**
 * The provisioned users. Each write is one decision in one transaction: it takes its locks on the people that it is
 * about before it reads anything, then writes the user and brings about what its statements say, or writes nothing.
 *
 * - A person who is to be refused is blocked, source `scim`, also where another source has blocked them, and their live
 *   tasks end, recorded as Tasks.revokeByGrant says. A block of this source takes the new kind and keeps its time.
 * - A person who is active loses the block of this source, unless another user of theirs is inactive. Blocks of other
 *   sources are never touched.
 * - A `sponsor.signal` entry comes before all that follows from it. None is written where the statement is not new and
 *   changed nothing.
 *
 * All methods may throw StorageUnavailable; whether a write was applied is then unknown.
 */
export interface ProvisionedUsers {
  find(userId: UserId): Promise<ProvisionedUser | undefined>;

  /** In the order of ids, which is that of creation. */
  list(question: UsersQuestion): Promise<UsersPage>;

  /**
   * Adds a user. `uniqueness`: another has that name. `full`: there are `maxUsers`, counted so that of any number of
   * creates at once none goes over. An inactive user's person is then blocked all the same, in the same transaction
   * (`statementsWithoutRoom`).
   */
  create(user: ProvisionedUser, news: ProvisioningNews, maxUsers: number): Promise<'created' | 'uniqueness' | 'full'>;

  /**
   * Compare and swap: `user` takes the place of `stored` if that is still the revision that stands. `gone`: there is no
   * such user any more.
   */
  replace(
    stored: ProvisionedUser,
    user: ProvisionedUser,
    news: ProvisioningNews,
  ): Promise<'replaced' | 'uniqueness' | 'changed' | 'gone'>;

  /** Compare and swap, likewise. */
  remove(stored: ProvisionedUser, news: ProvisioningNews): Promise<'removed' | 'changed' | 'gone'>;
}
