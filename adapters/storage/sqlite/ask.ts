/** Runs queries (`../queries/query.ts`) on SQLite. */

import { compile, inOrder, sqlite } from '../dialect.ts';
import type { Ask, Query } from '../queries/query.ts';
import type { Connection } from './connection.ts';
import type { Run } from './handle.ts';

export function sqliteAsk({ read }: Pick<Connection, 'read'>): Ask {
  return (query, question) => read((run) => answer(run, query, question));
}

/** In the caller's transaction. */
export function answer<Question, Answer>(run: Run, query: Query<Question, Answer>, question: Question): Answer {
  const source = typeof query.text === 'string' ? query.text : query.text(sqlite, question);
  const { text, names } = compile(source, sqlite);
  const { rows } = run<never>(text, inOrder(names, query.values?.(question, sqlite) ?? {}));
  return query.read(rows, question);
}
