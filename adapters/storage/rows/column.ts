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

/**
 * The last guard before text reaches a database. Postgres cannot store U+0000, and either engine would turn a lone
 * surrogate into a replacement character, so that two different names become one. The domain's rules keep both out
 * of everything that names somebody; what comes here all the same is a bug, and must not be stored as something else.
 */

const UNSTORABLE = '\u0000';

/** @throws RangeError naming the column, never the text */
export function storable(column: string, text: string): string {
  if (text.includes(UNSTORABLE) || !text.isWellFormed()) {
    throw new RangeError(`${column} holds U+0000 or a lone surrogate and cannot be stored`);
  }
  return text;
}

export function storableOrNull(column: string, text: string | undefined): string | null {
  return text === undefined ? null : storable(column, text);
}

/** What is run on a connection and what comes back, the same on both engines. */

/** A query made with Knex's builder. */
export interface Built {
  toSQL(): { toNative(): { readonly sql: string; readonly bindings: readonly unknown[] } };
}

export interface Rows<Row> {
  readonly rows: readonly Row[];
  /** Rows returned, or else changed. */
  readonly count: number;
}
