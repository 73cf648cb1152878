/**
 * Whether a stored authorization is the one that its person allowed, as the record `authorization.allowed` has it. The row is no
 * evidence: the owner of the database can change it. So its code opens no task before the row was compared.
 *
 * Only the record names the answer: the code, its redirect URI and its times have no record. A changed time lengthens or shortens
 * the wait, and says nothing of the yes.
 */

import type { Compared, Difference, RecordOfRow } from '../ledger/compared.ts';
import { formatScope } from '../scope.ts';
import { type Authorization, answerDetail } from './authorization.ts';

/** @param records the answers and starts that the ledger has of the task that the code opens */
export function compareAuthorization(
  row: Authorization,
  records: readonly Partial<RecordOfRow>[],
): Compared<Authorization> {
  const how = differenceFrom(row, records);
  if (how === undefined) return { kind: 'same', row, record: undefined };
  const written = how === 'no_record' && row.answeredAt !== undefined ? { written: { at: row.answeredAt } } : {};
  return { kind: 'differs', row, difference: { what: 'authorization', id: row.requestId, how, ...written } };
}

function differenceFrom(row: Authorization, records: readonly Partial<RecordOfRow>[]): Difference['how'] | undefined {
  const { code, state, person, agentId, audience } = row;
  const [answer, ...more] = records.filter(({ event }) => event === 'authorization.allowed');
  if (answer === undefined || code === undefined) return 'no_record';
  if (more.length > 0) return 'records';
  const isNamed =
    answer.detail === answerDetail(row) &&
    answer.agentId === agentId &&
    answer.sponsor === person.subject &&
    answer.audience === audience &&
    answer.scope === formatScope(code.scope);
  if (!isNamed) return 'names';
  // A code opens one task, and the ledger remembers it for longer than the task is stored.
  const isSpent = records.some(({ event }) => event === 'task.authorized');
  return isSpent && state !== 'spent' ? 'state' : undefined;
}

/** Compares the key of the person too. @param keysAreSubjects whether people's sponsor keys are their `sub` */
export function compareAnswerer(compared: Compared<Authorization>, keysAreSubjects: boolean): Compared<Authorization> {
  if (compared.kind === 'differs') return compared;
  const { row } = compared;
  if (!keysAreSubjects || row.person.sponsorKey === row.person.subject) return compared;
  return { kind: 'differs', row, difference: { what: 'authorization', id: row.requestId, how: 'names' } };
}
