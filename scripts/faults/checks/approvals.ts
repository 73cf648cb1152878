/**
 * Checks approvals: a tool server gets the answer `granted` only after a yes, and at most once for each. The records must say the
 * same. The run has ended every task, so each approval has all its records.
 */

import { parseApprovalDetail } from '../../../domain/approvals/approval.ts';
import {
  groupBy,
  type History,
  isIndeterminate,
  isSuccess,
  type LedgerLine,
  type Losses,
  type Operation,
} from '../operations.ts';

interface UsedApprovals {
  readonly losses: Losses;
  /** The number of used approvals whose answers did not arrive. No call went through for them. */
  readonly untold: number;
}

/** The events of an approval, from the question to its end. */
const COURSES: ReadonlySet<string> = new Set([
  'requested, refused',
  'requested, expired',
  'requested, withdrawn',
  'requested, granted, used',
  'requested, granted, expired',
  'requested, granted, withdrawn',
]);

const PREFIX = 'approval.';

export function isOfApproval({ event }: Pick<LedgerLine, 'event'>): boolean {
  return event.startsWith(PREFIX);
}

export function approvals({ operations, lines }: History): UsedApprovals {
  const recorded = lines.filter(isOfApproval);
  const idOf = ({ detail }: LedgerLine) => parseApprovalDetail(detail ?? '')?.approvalId;
  const recordsOf = groupBy(recorded, idOf);
  const operationsOf = groupBy(operations, ({ approval }) => approval);
  const asksOf = groupBy(
    operations.filter(({ kind }) => kind === 'ask for approval'),
    callOf,
  );
  const ids = new Set([...recorded.map(idOf), ...operations.map(({ approval }) => approval)]);
  const losses = recorded
    .filter((line) => idOf(line) === undefined)
    .map(({ seq, event }) => `the record ${seq}, ${event}, names no approval`);
  let untold = 0;

  for (const id of ids) {
    if (id === undefined) continue;
    const lose = (problem: string) => losses.push(`the approval ${id} ${problem}`);
    const records = recordsOf(id);
    const [first] = records;
    const has = (event: string) => records.some((line) => line.event === `${PREFIX}${event}`);
    const course = records.map(({ event }) => event.slice(PREFIX.length)).join(', ');
    if (!COURSES.has(course)) lose(`is recorded as "${course}"`);
    if (new Set(records.map(namesOf)).size > 1) lose('has records that name different calls');

    const asks = first === undefined ? [] : asksOf(callOfRecord(first));
    const answers = operationsOf(id);
    const unknown = asks.filter(isIndeterminate);
    const isOfCall = (one: Operation) => first !== undefined && one.task === first.task_id && one.sub === first.sponsor;
    if (!answers.every(isOfCall)) lose('was answered for another task or person');
    if (answers.some((one) => one.kind === 'ask for approval' && !asks.includes(one)))
      lose('was answered for another call');
    if (asks.every(({ approval }) => approval !== id) && unknown.length === 0) lose('is recorded without a request');

    const told = answers.filter(({ state }) => state === 'granted');
    if (told.length > 1) lose(`was answered ${told.length} times as granted`);
    if (told.length > 0 && !has('used')) lose('was answered as granted, and is not recorded as used');
    if (has('used') && told.length === 0) {
      if (unknown.length === 0) lose('is recorded as used, and no tool server was told');
      untold += 1;
    }
    for (const [kind, event] of [
      ['say yes', 'granted'],
      ['say no', 'refused'],
    ] as const) {
      const said = answers.filter((one) => one.kind === kind);
      if (said.some(isSuccess) && !has(event)) lose(`was answered, and is not recorded as ${event}`);
      if (has(event) && !said.some((one) => isSuccess(one) || isIndeterminate(one))) {
        lose(`is recorded as ${event}, and the person did not ${kind}`);
      }
    }
  }
  return { losses, untold };
}

/** Names the task and the digest of the call. */
function callOf({ task, digest }: Operation): string {
  return `${task} ${digest}`;
}

function callOfRecord({ task_id, detail }: LedgerLine): string {
  return `${task_id} ${parseApprovalDetail(detail ?? '')?.digest}`;
}

function namesOf({ task_id, agent_id, sponsor, detail }: LedgerLine): string {
  return JSON.stringify([task_id, agent_id, sponsor, detail]);
}
