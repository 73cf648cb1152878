/**
 * A query is data: SQL with named values (`../dialect.ts`), the values, and what its rows mean. A transaction is a generator
 * of commands, which are the same without rows. Each file of this folder has those of one noun, and the port that uses them.
 * An engine runs them (`../postgres/ask.ts`, `../sqlite/ask.ts`).
 */

import type { Dialect, Values } from '../dialect.ts';

export interface Command<Input> {
  /** Postgres parses a text with a name once for each connection. A text that depends on the input has no name. */
  readonly name?: string;
  readonly text: string | ((dialect: Dialect, input: Input) => string);
  readonly values?: (input: Input, dialect: Dialect) => Values;
  /** Whether the rows that it changes or deletes hold words of people: then no old text stays in the file of SQLite. */
  readonly holdsWords?: boolean;
}

export interface Query<Question, Answer> extends Command<Question> {
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

/** A command with its input. */
export interface Step {
  readonly command: Command<unknown>;
  readonly input: unknown;
}

/** Yields one command after another, and gets back how many rows each one changed. */
export type Transaction<Answer> = Generator<Step, Answer, number>;

/** Runs a transaction. @param begin may be called again if the engine rolled the transaction back */
export type Change = <Answer>(begin: () => Transaction<Answer>) => Promise<Answer>;

export function step<Input>(command: Command<Input>, input: Input): Step {
  return { command: command as Command<unknown>, input };
}
