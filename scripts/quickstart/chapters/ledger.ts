/** Shows that the ledger has every decision of the quickstart so far, and no other. */

import { AGENT_ID, ada, GRANTED } from '../authority.ts';
import { ledgerTable } from '../ledger-table.ts';
import type { Stage } from '../stage.ts';
import { must } from '../story-broke.ts';
import type { Terminal } from '../terminal.ts';

/** The expected records in order: event, decision, reason. The number of renewals varies, so they are left out. */
const EXPECTED = [
  ...['agent.registered allow', 'operator.acted allow'],
  'token.issued allow',
  'token.denied deny actor_replayed',
  'token.issued allow',
  'token.denied deny scope_intersection_empty',
  'token.denied deny scope_widened',
  'token.issued allow',
  'task.revoked allow client_revoked',
  'task.revoked allow client_revoked',
  'token.issued allow',
  ...['approval.requested allow', 'approval.granted allow', 'approval.used allow'],
  ...['approval.requested allow', 'approval.refused deny approval_refused'],
  'task.revoked allow client_revoked',
  'token.issued allow',
  'me.denied deny invalid_token',
  'task.revoked allow sponsor_stopped',
  'token.denied deny task_revoked',
  ...['agent.registered allow', 'operator.acted allow'],
  ...['authorization.allowed allow', 'token.issued allow', 'task.authorized allow'],
  ...['authorization.allowed allow', 'token.issued allow', 'task.authorized allow'],
  ...['task.revoked allow sponsor_stopped', 'task.revoked allow sponsor_stopped'],
  'token.denied deny task_revoked',
  'token.issued allow',
  'operator.signed_in allow',
  ...['task.revoked allow operator_kill_switch', 'operator.acted allow'],
  'token.denied deny task_revoked',
  'token.issued allow',
  ...['task.revoked allow operator_kill_switch', 'operator.acted allow'],
  'token.denied deny task_revoked',
  'sponsor.blocked allow sponsor_blocked',
  ...['task.revoked allow sponsor_blocked', 'operator.acted allow'],
  'token.denied deny sponsor_disabled',
  ...['sponsor.unblocked allow operator_unblocked', 'operator.acted allow'],
  'token.issued allow',
  'task.revoked allow client_revoked',
];
const RENEWAL = 'token.refreshed allow';
/** A task's first renewal has its own record. One record at the task's end counts all others. */
const LEAST_RENEWALS = 3;

export async function theLedgerHasEveryDecision(
  { operator }: Stage,
  terminal: Terminal,
  taskId: string,
): Promise<void> {
  terminal.chapter('The ledger has every decision');
  terminal.say('The operator reads the records (GET /audit):');
  const rows = await operator.readLedger();
  terminal.show(ledgerTable(rows));
  const all = rows.map(({ event, decision, reason }) => [event, decision, reason ?? []].flat().join(' '));
  const told = all.filter((line) => line !== RENEWAL);
  const wrong = [...EXPECTED, undefined].findIndex((line, index) => told[index] !== line);
  must(wrong === -1, `Record ${wrong + 1}, without renewals, should be "${EXPECTED[wrong]}", not "${told[wrong]}".`);
  must(all.length - told.length >= LEAST_RENEWALS, 'The renewals should be in the ledger.');

  const issued = rows.find(({ event, task_id }) => event === 'token.issued' && task_id === taskId);
  must(issued?.sponsor === ada.username && issued.agent_id === AGENT_ID, 'token.issued should name Ada and the agent.');
  must(issued.scope === GRANTED.join(' '), 'token.issued should name the scope.');
  terminal.confirm('Every decision above has a record: allowed or refused, and the reason.');
}
