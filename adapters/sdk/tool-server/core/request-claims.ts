/**
 * The claims of the requests that were let through, by the request itself: nothing that a request carries, and no other
 * middleware, can put them there.
 */

import type { TaskTokenClaims } from './claims.ts';

const allowed = new WeakMap<object, TaskTokenClaims>();

export function keepClaims(request: object, claims: TaskTokenClaims): void {
  allowed.set(request, claims);
}

/**
 * For whom this request is, and who acts.
 *
 * @throws Error when nothing let the request through: its route is not protected
 */
export function claimsOf(request: object): TaskTokenClaims {
  const claims = allowed.get(request);
  if (claims === undefined)
    throw new Error('This request was not let through by a tool server: is its route protected?');
  return claims;
}
