/** Types and conversions of column values, for both engines. */

import type { Instant } from '../../../domain/instant.ts';
import { formatScope, type Scope } from '../../../domain/scope.ts';

/** A parameter's value, as both drivers accept it. */
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

const UNSTORABLE = '\u0000';

/**
 * The last check before a database stores a text. Postgres cannot store U+0000, and both engines replace a lone surrogate,
 * so that two different names become one. The domain refuses both; a text that has one here is a bug.
 *
 * @throws RangeError with the column's name, never the text
 */
export function storable(column: string, text: string): string {
  if (text.includes(UNSTORABLE) || !text.isWellFormed()) {
    throw new RangeError(`${column} holds U+0000 or a lone surrogate and cannot be stored`);
  }
  return text;
}

export function storableOrNull(column: string, text: string | undefined): string | null {
  return text === undefined ? null : storable(column, text);
}

/** A query made with Knex's builder. */
export interface Built {
  toSQL(): { toNative(): { readonly sql: string; readonly bindings: readonly unknown[] } };
}

export interface Rows<Row> {
  readonly rows: readonly Row[];
  /** The number of returned rows, or of changed ones. */
  readonly count: number;
}
