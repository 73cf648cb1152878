/** Ledger records as a table of who did what, for whom, and how it was decided. */

import type { LedgerRow } from './operator.ts';
import { layOut } from './table.ts';

export function ledgerTable(rows: readonly LedgerRow[]): readonly string[] {
  return layOut(
    [
      { title: '#', width: 4 },
      { title: 'time', width: 8 },
      { title: 'event', width: 16 },
      { title: 'person', width: 8 },
      { title: 'agent', width: 10 },
      { title: 'scope', width: 13 },
      { title: '', width: 5 },
      { title: 'reason', width: 24 },
    ],
    rows.map((row) => [
      show(row.seq),
      show(row.ts).slice(11, 19),
      show(row.event),
      show(row.sponsor),
      show(row.agent_id),
      show(row.scope),
      show(row.decision),
      show(row.reason),
    ]),
  );
}

function show(value: unknown): string {
  return value === null || value === undefined ? '' : String(value);
}
