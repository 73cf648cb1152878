/**
 * Reads the ledger on SQLite. Write transactions run one after another, and `dateOf` (`append.ts`) never dates an entry
 * before an existing record. So a page needs no lock: no record can later appear before one that was read.
 */

import type { Ledger } from '../../../application/ports/ledger.ts';
import { archivedBefore, countDenials, numberBefore, pageQuery, toPage } from '../queries/ledger.ts';
import { answer } from './answer.ts';
import { sqliteAsk } from './ask.ts';
import type { Connection } from './connection.ts';

export function sqliteLedger({ read }: Pick<Connection, 'read'>): Ledger {
  const ask = sqliteAsk({ read });
  return {
    page: (query) =>
      read((run) => toPage(answer(run, pageQuery(query), query), query.limit, answer(run, archivedBefore, undefined))),
    settledThrough: () =>
      read((run) => run<{ seq: number | null }>('select max(seq) as seq from ledger').rows[0]?.seq ?? 0),
    denials: (question) => ask(countDenials, question),
    numberBefore: (records) => ask(numberBefore, records),
  };
}
