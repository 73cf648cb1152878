/**
 * Reads the ledger on SQLite. Write transactions run one after another, and `dateOf` (`append.ts`) never dates an entry
 * before an existing record. So a page needs no lock: no record can later appear before one that was read.
 */

import type { Ledger } from '../../../application/ports/ledger.ts';
import { countDenials, numberBefore, pageQuery, toPage } from '../queries/ledger.ts';
import { sqliteAsk } from './ask.ts';
import type { Connection } from './connection.ts';

export function sqliteLedger({ read }: Pick<Connection, 'read'>): Ledger {
  const ask = sqliteAsk({ read });
  return {
    page: async (query) => toPage(await ask(pageQuery(query), query), query.limit),
    settledThrough: () =>
      read((run) => run<{ seq: number | null }>('select max(seq) as seq from ledger').rows[0]?.seq ?? 0),
    denials: (question) => ask(countDenials, question),
    numberBefore: (records) => ask(numberBefore, records),
  };
}
