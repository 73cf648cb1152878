/** Finds a number that two records of the ledger have. */

import type { UsedTwice } from '../../../application/ports/checkpoints.ts';
import { readUsedTwice, selectUsedTwice, type UsedTwiceRow } from '../rows/ledger-row.ts';
import type { Run } from './handle.ts';

const selectKey = "select name from pragma_table_info('ledger') where pk > 0";
const selectTwice = selectUsedTwice('select seq from ledger group by seq having count(*) > 1');

/** The number is the key of the table. Only another program can have rebuilt the file without it: then all records are read. */
export function usedTwice(run: Run): UsedTwice | undefined {
  const key = run<{ name: string }>(selectKey).rows;
  if (key.length === 1 && key[0]?.name === 'seq') return undefined;
  return readUsedTwice(run<UsedTwiceRow>(selectTwice).rows);
}
