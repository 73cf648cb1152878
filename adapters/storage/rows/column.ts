/** How values of the domain are written into columns that both engines have. */

import type { Instant } from '../../../domain/instant.ts';
import { formatScope, type Scope } from '../../../domain/scope.ts';

/** What a driver is given for a parameter. */
export type Bound = string | number | boolean | null;

/** Writes an instant as its engine stores it: text for Postgres's `timestamptz`, microseconds for SQLite. */
export type BindInstant = (instant: Instant) => Bound;

/** Space-separated; a scope-token holds no space (RFC 6749 §3.3). */
export function scopeColumn(scope: Scope): string {
  return formatScope(scope);
}

export function readScope(column: string): Scope {
  return column === '' ? [] : column.split(' ');
}
