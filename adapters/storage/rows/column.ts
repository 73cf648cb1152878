/**
 * Types and conversions of column values, for both engines. Each other file of this folder has one table: the type of
 * its row, and the conversions between rows and the objects of `domain`. migrations.ts applies the schema.
 */

import { type Instant, instantFromMicros } from '../../../domain/instant.ts';
import type { Scope } from '../../../domain/scope.ts';
import type { Column, ColumnType } from '../tables.ts';

/** The value of a parameter. Both drivers accept these types. */
export type Bound = string | number | boolean | null;

/** SQLite has no booleans. */
interface ReadValues extends Readonly<Record<ColumnType, unknown>> {
  text: string;
  key: string;
  json: string;
  integer: number;
  bigint: number;
  boolean: boolean | number;
  instant: Instant;
}

/** A row of a table, as both engines read it. A type of this folder narrows the columns whose values the domain names. */
export type ReadRow<Of extends { readonly columns: Readonly<Record<string, Column>> }> = {
  readonly [Name in keyof Of['columns']]: Of['columns'][Name] extends `${infer Type extends ColumnType}?`
    ? ReadValues[Type] | null
    : ReadValues[Of['columns'][Name] & ColumnType];
};

/** Converts an instant to its stored form: text for Postgres's `timestamptz`, microseconds for SQLite. */
export type BindInstant = (instant: Instant) => Bound;

/** Later than every stored time, as the bound of the first page. */
export const LATEST = instantFromMicros(Number.MAX_SAFE_INTEGER);

/** Reads what `formatScope` writes; a scope-token holds no space (RFC 6749 §3.3). */
export function readScope(column: string): Scope {
  return column === '' ? [] : column.split(' ');
}

const UNSTORABLE = '\u0000';

/**
 * Checks a text before a database stores it. Postgres cannot store U+0000. Both engines replace a lone surrogate, so two
 * different names could become equal. The domain refuses both, so such a text here is a bug.
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

export interface Rows<Row> {
  readonly rows: readonly Row[];
  /** How many rows were returned, or changed. */
  readonly count: number;
}
