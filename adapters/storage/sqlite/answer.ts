/** Runs queries and commands (`../queries/query.ts`) in the caller's transaction on SQLite. */

import { compile, inOrder, sqlite } from '../dialect.ts';
import type { Command, Query } from '../queries/query.ts';
import type { Rows } from '../rows/column.ts';
import type { Run } from './handle.ts';

export function answer<Question, Answer>(run: Run, query: Query<Question, Answer>, question: Question): Answer {
  return query.read(perform<never, Question>(run, query, question).rows, question);
}

export function perform<Row, Input>(run: Run, command: Command<Input>, input: Input): Rows<Row> {
  const { text: source, values, holdsWords } = command;
  const { text, names } = compile(typeof source === 'string' ? source : source(sqlite, input), sqlite);
  const perform = () => run<Row>(text, inOrder(names, values?.(input, sqlite) ?? {}));
  return holdsWords === true ? overwritingFreePages(run, perform) : perform();
}

/** Otherwise the deleted text stays in pages that become free (`configure` in connection.ts), until they are used again. */
export function overwritingFreePages<Answer>(run: Run, change: () => Answer): Answer {
  run('pragma secure_delete = on');
  try {
    return change();
  } finally {
    run('pragma secure_delete = fast');
  }
}
