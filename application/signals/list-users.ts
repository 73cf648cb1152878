/** Finds provisioned users (specification "/scim/v2"; RFC 7644 §3.4.2.4). */

import type { UserFilter } from '../../domain/signals/user-filter.ts';
import type { ProvisionedUsers, UsersPage } from '../ports/queries.ts';

export interface UsersListing {
  readonly filter: UserFilter | undefined;
  /** Counted from 1. */
  readonly startIndex: number;
  readonly count: number;
}

export async function listUsers(
  { users }: { readonly users: Pick<ProvisionedUsers, 'list'> },
  { filter, startIndex, count }: UsersListing,
): Promise<UsersPage> {
  if (filter?.kind === 'no_match') return { users: [], total: 0 };
  const match = filter && { attribute: filter.attribute, value: filter.value };
  return users.list({ match, skip: startIndex - 1, limit: count });
}
