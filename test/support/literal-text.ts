/** The text of a query with its values as literals, for EXPLAIN. */

import { compile, type Dialect } from '../../adapters/storage/dialect.ts';
import type { Query } from '../../adapters/storage/queries/query.ts';

export function literalText<Question>(query: Query<Question, unknown>, question: Question, dialect: Dialect): string {
  const text = typeof query.text === 'string' ? query.text : query.text(dialect, question);
  const values = query.values?.(question, dialect) ?? {};
  const literal = (name: string) => {
    const value = values[name];
    return typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);
  };
  return compile(text, { ...dialect, parameter: literal }).text;
}
