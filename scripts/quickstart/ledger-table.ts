/** Shows ledger records as a table, with the event, the person, the agent and the decision. */

import type { LedgerRow } from './operator.ts';
import type { Table } from './table.ts';

export function ledgerTable(rows: readonly LedgerRow[]): Table {
  return {
    columns: [
      { title: '#', width: 3 },
      { title: 'event', width: 21 },
      { title: 'person', width: 6 },
      { title: 'agent', width: 10 },
      { title: 'scope', width: 19 },
      { title: '', width: 5 },
      { title: 'reason', width: 24 },
    ],
    rows: rows.map((row) => [
      show(row.seq),
      show(row.event),
      show(row.sponsor),
      show(row.agent_id),
      show(row.scope),
      show(row.decision),
      show(row.reason ?? counted(row.count)),
    ]),
  };
}

/** The number of renewals in a summary. */
function counted(count: unknown): string {
  return count === undefined ? '' : `${count} more`;
}

function show(value: unknown): string {
  return value === null || value === undefined ? '' : String(value);
}
