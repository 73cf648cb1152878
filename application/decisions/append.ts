/** Appends an entry that needs no decision (specification "Audit events"). The entry is durable before the answer. */

import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { decision } from './decision.ts';
import { recorded } from './effect.ts';

export const append = decision({
  name: 'append',
  transaction: 'shared',
  locks: () => [],
  asks: () => ({}),
  judge: (entry: LedgerEntry) => ({ verdict: undefined, effects: recorded([entry]) }),
});
