/** Queries of the provisioned users. All methods may throw StorageUnavailable. */

import type { SponsorKey, UserId } from '../../domain/identifiers.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
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

/** The provisioned users. */
export interface ProvisionedUsers {
  find(userId: UserId): Promise<ProvisionedUser | undefined>;

  /** In the order of ids, which is the order of creation. */
  list(question: UsersQuestion): Promise<UsersPage>;

  /** All users of the person, in the order of ids. */
  ofPerson(sponsorKey: SponsorKey): Promise<readonly ProvisionedUser[]>;
}
