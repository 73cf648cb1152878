/** Runs queries and transactions (`../queries/query.ts`) on SQLite. */

import type { Ask, Change } from '../queries/query.ts';
import { answer, perform } from './answer.ts';
import type { Connection } from './connection.ts';

export function sqliteAsk({ read }: Pick<Connection, 'read'>): Ask {
  return (query, question) => read((run) => answer(run, query, question));
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
