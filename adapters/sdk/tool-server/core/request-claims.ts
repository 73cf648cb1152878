/**
 * The claims of allowed requests, keyed by the request object. Only this module writes them: neither the request's
 * content nor another middleware can forge them.
 */

import type { TaskTokenClaims } from './claims.ts';

const allowed = new WeakMap<object, TaskTokenClaims>();

export function keepClaims(request: object, claims: TaskTokenClaims): void {
  allowed.set(request, claims);
}

/**
 * The verified claims of an allowed request: the person and the agent that acts.
 *
 * @throws Error if the request was not allowed by a tool server: its route is not protected
 */
export function claimsOf(request: object): TaskTokenClaims {
  const claims = allowed.get(request);
  if (claims === undefined)
    throw new Error('This request was not let through by a tool server: is its route protected?');
  return claims;
}
