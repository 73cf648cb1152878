/** The ledger holds every decision that was told so far, and no other. */

import { AGENT_ID, ada, GRANTED } from '../authority.ts';
import { ledgerTable } from '../ledger-table.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

/** What the ledger has to say, in order: event, decision, reason; without renewals, which time decides on. */
const EXPECTED = [
  'agent.registered allow',
  'token.issued allow',
  'token.denied deny actor_replayed',
  'token.issued allow',
  'token.denied deny scope_intersection_empty',
  'token.denied deny scope_widened',
  'token.issued allow',
  'task.revoked allow client_revoked',
  'task.revoked allow client_revoked',
  'token.issued allow',
  'task.revoked allow operator_kill_switch',
  'token.denied deny task_revoked',
  'sponsor.blocked allow sponsor_blocked',
  'task.revoked allow sponsor_blocked',
  'token.denied deny sponsor_disabled',
  'sponsor.unblocked allow operator_unblocked',
  'token.issued allow',
  'task.revoked allow client_revoked',
];
const RENEWAL = 'token.refreshed allow';
/** A task's first one has a record of its own, and all others are counted in one before its end. */
const LEAST_RENEWALS = 3;

export async function theLedgerTellsItAll({ operator }: Stage, terminal: Terminal, taskId: string): Promise<void> {
  terminal.chapter('The ledger tells all of it');
  terminal.say('The operator reads who did what for whom (GET /audit):');
  const rows = await operator.readLedger();
  terminal.show(ledgerTable(rows));
  const all = rows.map(({ event, decision, reason }) => [event, decision, reason ?? []].flat().join(' '));
  const told = all.filter((line) => line !== RENEWAL);
  const wrong = [...EXPECTED, undefined].findIndex((line, index) => told[index] !== line);
  must(wrong === -1, `Of what is no renewal, ${wrong + 1} should be "${EXPECTED[wrong]}", not "${told[wrong]}".`);
  must(all.length - told.length >= LEAST_RENEWALS, 'The renewals should be in the ledger.');

  const issued = rows.find(({ event, task_id }) => event === 'token.issued' && task_id === taskId);
  must(issued?.sponsor === ada.username && issued.agent_id === AGENT_ID, 'token.issued should name Ada and the agent.');
  must(issued.scope === GRANTED.join(' '), 'token.issued should name the scope.');
  terminal.confirm('Every decision above is there: what was allowed, what was refused, and why.');
}
