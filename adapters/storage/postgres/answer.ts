/** Runs queries and commands (`../queries/query.ts`) in the caller's transaction on Postgres. */

import { compile, inOrder, postgres } from '../dialect.ts';
import type { Command, Query } from '../queries/query.ts';
import type { Rows } from '../rows/column.ts';
import type { Run, Statement } from './pool/pool.ts';

export async function answer<Question, Answer>(
  run: Run,
  query: Query<Question, Answer>,
  question: Question,
): Promise<Answer> {
  const { rows } = await perform<never, Question>(run, query, question);
  return query.read(rows, question);
}

export function perform<Row, Input>(run: Run, command: Command<Input>, input: Input): Promise<Rows<Row>> {
  const { query, values } = statementOf(command, input);
  return run<Row>(query, values);
}

export function statementOf<Input>({ name, text: source, values }: Command<Input>, input: Input): Statement {
  const { text, names } = compile(typeof source === 'string' ? source : source(postgres, input), postgres);
  return { query: { name, text }, values: inOrder(names, values?.(input, postgres) ?? {}) };
}
