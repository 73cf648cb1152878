/** Runs queries and transactions (`../queries/query.ts`) on SQLite. */

import { compile, inOrder, sqlite } from '../dialect.ts';
import type { Ask, Change, Command, Query } from '../queries/query.ts';
import type { Rows } from '../rows/column.ts';
import type { Connection } from './connection.ts';
import type { Run } from './handle.ts';

export function sqliteAsk({ read }: Pick<Connection, 'read'>): Ask {
  return (query, question) => read((run) => answer(run, query, question));
}

/** In the caller's transaction. */
export function answer<Question, Answer>(run: Run, query: Query<Question, Answer>, question: Question): Answer {
  return query.read(perform<never, Question>(run, query, question).rows, question);
}

export function sqliteChange({ write }: Pick<Connection, 'write'>): Change {
  return (begin) =>
    write((run) => {
      const steps = begin();
      let next = steps.next();
      while (!next.done) next = steps.next(perform(run, next.value.command, next.value.input).count);
      return next.value;
    });
}

function perform<Row, Input>(run: Run, { text: source, values }: Command<Input>, input: Input): Rows<Row> {
  const { text, names } = compile(typeof source === 'string' ? source : source(sqlite, input), sqlite);
  return run<Row>(text, inOrder(names, values?.(input, sqlite) ?? {}));
}
