/** The check of a list of scopes. It has its own file, so that the auditor's library does not get the rules of scopes. */

import { isScopeToken } from '../../domain/scope.ts';
import type { Check } from './arguments.ts';

/** At least one scope: an empty list in a policy would accept every token, and in a request it would ask for nothing. */
export const scopes = scopesWith(isScopeToken, 'printable ASCII without spaces, quotes and backslashes');

/** @param form describes the entries that are accepted */
export function scopesWith(isAccepted: (entry: string) => boolean, form: string): Check {
  return (value, name) => {
    if (!Array.isArray(value) || value.length === 0) return [`${name} must be a list of at least one scope`];
    const isWhole = Array.from(value).every((entry) => typeof entry === 'string' && isAccepted(entry));
    return isWhole ? [] : [`${name} must hold only scopes: ${form}`];
  };
}
