/**
 * A query is data: SQL with named values (`../dialect.ts`), the values, and what its rows mean. Each file of this folder has
 * the queries of one noun, and the port that asks them. An engine runs them (`../postgres/ask.ts`, `../sqlite/ask.ts`).
 */

import type { Dialect, Values } from '../dialect.ts';

export interface Query<Question, Answer> {
  /** Postgres parses a text with a name once for each connection. Without a name, the text depends on the question. */
  readonly name?: string;
  readonly text: string | ((dialect: Dialect, question: Question) => string);
  readonly values?: (question: Question, dialect: Dialect) => Values;
  /**
   * The types of the values, if the query finds one row by key. On Postgres, questions of one turn of the event loop then
   * share a statement.
   */
  readonly key?: Readonly<Record<string, 'text'>>;
  /** How Postgres plans the query: without reading a whole table, or also in the order of an index. */
  readonly plan?: 'by_index' | 'in_order';
  read(rows: readonly never[], question: Question): Answer;
}

export type Ask = <Question, Answer>(query: Query<Question, Answer>, question: Question) => Promise<Answer>;
