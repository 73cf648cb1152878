/** How values travel between SQLite and us: instants as integers, microseconds. */

import type { BindInstant, Bound } from '../rows/column.ts';

export const bindInstant: BindInstant = (instant) => instant;

/** SQLite has no booleans. */
export function bindable(value: unknown): Exclude<Bound, boolean> {
  if (typeof value === 'boolean') return Number(value);
  if (value === null || typeof value === 'string' || typeof value === 'number') return value;
  throw new TypeError('a value is of no type that SQLite stores');
}
