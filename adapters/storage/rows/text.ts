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
