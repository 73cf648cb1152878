/** The newest rows of each kind that are compared with the ledger, for `mandate doctor`. */

import type { BesideCondition } from '../../../application/ports/storage.ts';
import { comparePerson } from '../../../domain/approvals/approval-records.ts';
import { compareAnswerer } from '../../../domain/authorization/authorization-records.ts';
import { type Difference, differenceIn } from '../../../domain/ledger/compared.ts';
import { differenceOfPurpose } from '../../../domain/tasks/purpose.ts';
import { type RecordedApprovalRow, toApproval } from '../rows/approval-row.ts';
import { type RecordedAuthorizationRow, toRecorded } from '../rows/authorization-row.ts';
import { actColumns, type OperatorActRow, toStoredAct } from '../rows/operator-act-row.ts';
import {
  readRecords,
  recordOfAct,
  recordsOfAnswer,
  recordsOfApproval,
  recordsOfTask,
  sha256,
} from '../rows/recorded.ts';
import type { TaskRow } from '../rows/task-row.ts';
import { columnsOf, tables } from '../tables.ts';
import type { Ask, Query } from './query.ts';

type Found = readonly (Difference | undefined)[];

interface ApprovalOfTaskRow extends RecordedApprovalRow {
  readonly sponsor: string;
}

interface ApprovalsQuestion {
  readonly limit: number;
  readonly keysAreSubjects: boolean;
}

export const newestApprovals: Query<ApprovalsQuestion, Found> = {
  name: 'newest_approvals',
  plan: 'in_order',
  text: (dialect) => `select found.*, ${recordsOfApproval(dialect, 'found')},
      (select sponsor from tasks t where t.task_id = found.task_id) as sponsor
    from (
      select ${columnsOf(tables.approvals).join(', ')} from approvals order by approval_id desc limit :limit
    ) found`,
  values: ({ limit }) => ({ limit }),
  read: (rows: readonly ApprovalOfTaskRow[], { keysAreSubjects }) =>
    rows.map((row) => differenceIn(comparePerson(toApproval(row), keysAreSubjects))),
};

/** Of the newest requests, those whose person allowed them. */
export const newestAnswers: Query<ApprovalsQuestion, Found> = {
  name: 'newest_answers',
  plan: 'in_order',
  text: (dialect) => `select found.*, ${recordsOfAnswer(dialect, 'found')} from (
      select ${columnsOf(tables.authorizations).join(', ')} from authorizations order by request_id desc limit :limit
    ) found where found.code_hash is not null`,
  values: ({ limit }) => ({ limit }),
  read: (rows: readonly RecordedAuthorizationRow[], { keysAreSubjects }) =>
    rows.map((row) => differenceIn(compareAnswerer(toRecorded(row), keysAreSubjects))),
};

interface PurposeRow extends Pick<TaskRow, 'task_id' | 'agent_id' | 'sponsor' | 'created_at'> {
  readonly purpose: string;
  readonly salt: string;
  readonly records: string | null;
}

export const newestPurposes: Query<number, Found> = {
  name: 'newest_purposes',
  plan: 'in_order',
  text: (
    dialect,
  ) => `select t.task_id, t.agent_id, t.sponsor, t.created_at, p.purpose, p.salt, ${recordsOfTask(dialect, 't')}
    from (select task_id, purpose, salt from task_purposes order by task_id desc limit :limit) p
      join tasks t on t.task_id = p.task_id`,
  values: (limit) => ({ limit }),
  read: (rows: readonly PurposeRow[]) =>
    rows.map(({ task_id: taskId, agent_id: agentId, created_at: createdAt, purpose: words, ...row }) =>
      differenceOfPurpose(sha256, { ...row, taskId, agentId, createdAt, words }, readRecords(row.records)),
    ),
};

export const newestReasons: Query<number, Found> = {
  name: 'newest_reasons',
  plan: 'in_order',
  text: `select found.*, ${recordOfAct('found')} from (
      select ${['seq', 'explains', ...actColumns].join(', ')} from operator_acts order by seq desc limit :limit
    ) found`,
  values: (limit) => ({ limit }),
  read: (rows: readonly OperatorActRow[]) => rows.map((row) => differenceIn(toStoredAct(row))),
};

/** @param question `limit`: the rows of each kind */
export async function besideLedger(ask: Ask, question: ApprovalsQuestion): Promise<BesideCondition> {
  const { limit } = question;
  const found = [
    ...(await ask(newestApprovals, question)),
    ...(await ask(newestAnswers, question)),
    ...(await ask(newestPurposes, limit)),
    ...(await ask(newestReasons, limit)),
  ];
  return { compared: found.length, differences: found.filter((each) => each !== undefined) };
}
