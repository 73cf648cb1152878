/** Runs queries and commands (`../queries/query.ts`) in the caller's transaction on Postgres. */

import { compile, inOrder, postgres } from '../dialect.ts';
import type { Command, Query } from '../queries/query.ts';
import type { Rows } from '../rows/column.ts';
import type { Run } from './connections.ts';

export async function answer<Question, Answer>(
  run: Run,
  query: Query<Question, Answer>,
  question: Question,
): Promise<Answer> {
  const { rows } = await perform<never, Question>(run, query, question);
  return query.read(rows, question);
}

export function perform<Row, Input>(
  run: Run,
  { name, text: source, values }: Command<Input>,
  input: Input,
): Promise<Rows<Row>> {
  const { text, names } = compile(typeof source === 'string' ? source : source(postgres, input), postgres);
  return run<Row>({ name, text }, inOrder(names, values?.(input, postgres) ?? {}));
}
