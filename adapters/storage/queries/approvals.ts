/** Queries of approvals, and the notices that they wait. */

import type {
  ApprovalNotice,
  ApprovalNotices,
  Approvals,
  ApprovalsPage,
  ApprovalsQuestion,
  TaskApproval,
} from '../../../application/ports/approvals.ts';
import type { Approval } from '../../../domain/approvals/approval.ts';
import type { ApprovalOrigin } from '../../../domain/approvals/approval-records.ts';
import type { ApprovalId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Compared } from '../../../domain/ledger/compared.ts';
import { latestDue } from '../../../domain/ledger/delivery.ts';
import type { Dialect } from '../dialect.ts';
import {
  IS_OPEN,
  LAST_APPROVAL_ID,
  type RecordedApprovalRow,
  type TaskApprovalRow,
  toApproval,
  toTaskApproval,
} from '../rows/approval-row.ts';
import { type ReadRow, storable } from '../rows/column.ts';
import { recordsOfApproval } from '../rows/recorded.ts';
import { columnsOf, tables } from '../tables.ts';
import { type Ask, type Change, type Command, type Query, step, type Transaction } from './query.ts';

const COLUMNS = columnsOf(tables.approvals);
const LISTED = COLUMNS.join(', ');

/** The rows of a select of approvals, with their records, and what other tables have of their tasks. */
const described = (dialect: Dialect, found: string) => `select found.*,
      ${recordsOfApproval(dialect, 'found')},
      (select sponsor_key from tasks t where t.task_id = found.task_id) as task_sponsor_key,
      (select agent_id from tasks t where t.task_id = found.task_id) as agent_id,
      (select sponsor from tasks t where t.task_id = found.task_id) as sponsor,
      (select audience from tasks t where t.task_id = found.task_id) as audience,
      (select a.display_name from tasks t join agents a using (agent_id) where t.task_id = found.task_id) as display_name
    from (
      ${found}
    ) found`;

export const findApproval: Query<ApprovalId, Compared<TaskApproval, ApprovalOrigin> | undefined> = {
  name: 'find_approval',
  plan: 'by_index',
  text: (dialect) => described(dialect, `select ${LISTED} from approvals where approval_id = :approval_id`),
  values: (approvalId) => ({ approval_id: approvalId }),
  read: ([row]: readonly TaskApprovalRow[]) => row && toTaskApproval(row),
};

/** The highest limit of approvals that wait for one person. */
const MOST_WAITING = 1000;

interface WaitingQuestion {
  readonly sponsorKey: SponsorKey;
  readonly now: Instant;
}

export const waitingApprovals: Query<WaitingQuestion, readonly Compared<TaskApproval, ApprovalOrigin>[]> = {
  name: 'waiting_approvals',
  plan: 'by_index',
  text: (dialect) => `${described(
    dialect,
    `select ${LISTED} from approvals
        where sponsor_key = :sponsor_key and state = 'pending' and expires_at > :now limit ${MOST_WAITING}`,
  )}
    order by requested_at, approval_id`,
  values: ({ sponsorKey, now }, { instant }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    now: instant(now),
  }),
  read: (rows: readonly TaskApprovalRow[]) => rows.map(toTaskApproval),
};

interface SettledQuestion extends WaitingQuestion {
  readonly limit: number;
}

/**
 * When the person answered; of an approval without an answer, when its time was up, or it was withdrawn. As in the index
 * `approvals_settled`, word by word. A record of the sweeper does not change it.
 */
const SETTLED_AT = "coalesce(decided_at, case state when 'expired' then expires_at else closed_at end)";

/** Two parts, each read along its index: those whose time is up without a record of that, and those with an end or an answer. */
export const settledApprovals: Query<SettledQuestion, readonly Compared<TaskApproval, ApprovalOrigin>[]> = {
  name: 'settled_approvals',
  plan: 'by_index',
  text: (dialect) => `${described(
    dialect,
    `select * from (
        select ${LISTED}, expires_at as settled_at from approvals
          where sponsor_key = :sponsor_key and state = 'pending' and expires_at <= :now
          order by expires_at desc limit :limit
      ) missed
      union all
      select * from (
        select ${LISTED}, ${SETTLED_AT} as settled_at from approvals
          where sponsor_key = :sponsor_key and ${SETTLED_AT} is not null
          order by ${SETTLED_AT} desc, approval_id desc limit :limit
      ) settled
      order by settled_at desc, approval_id desc limit :limit`,
  )}
    order by settled_at desc, approval_id desc`,
  values: ({ sponsorKey, now, limit }, { instant }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    now: instant(now),
    limit,
  }),
  read: (rows: readonly TaskApprovalRow[]) => rows.map(toTaskApproval),
};

interface TaskQuestion {
  readonly taskId: TaskId;
  readonly limit: number;
}

export const approvalsOfTask: Query<TaskQuestion, readonly Compared<Approval, ApprovalOrigin>[]> = {
  name: 'approvals_of_task',
  plan: 'by_index',
  text: (dialect) => `select found.*, ${recordsOfApproval(dialect, 'found')} from (
      select ${LISTED} from approvals where task_id = :task_id
        order by requested_at desc, approval_id desc limit :limit
    ) found
    order by requested_at desc, approval_id desc`,
  values: ({ taskId, limit }) => ({ task_id: taskId, limit }),
  read: (rows: readonly RecordedApprovalRow[]) => rows.map(toApproval),
};

interface ListedRow extends TaskApprovalRow {
  readonly matches: number;
  readonly is_last_read: number;
}

/** The ids of the approvals with the filters. The last one read is among them in any case. */
function selectListed({ sponsorKey, agentId, state }: ApprovalsQuestion): string {
  const newest = 'from approvals where approval_id < :before order by approval_id desc';
  const filters = [
    ...(sponsorKey === undefined ? [] : ['sponsor_key = :sponsor_key']),
    ...(agentId === undefined ? [] : ['(select agent_id from tasks t where t.task_id = counted.task_id) = :agent_id']),
    ...(state === undefined
      ? []
      : [`case when ${IS_OPEN} and expires_at <= :now then 'expired' else state end = :state`]),
  ].join(' and ');
  if (filters === '') return `select approval_id, 1 as matches, 0 as is_last_read ${newest} limit :limit`;
  return `select approval_id, case when ${filters} then 1 else 0 end as matches,
            case when nth = :most_read then 1 else 0 end as is_last_read
          from (
            select approval_id, task_id, sponsor_key, state, expires_at,
                row_number() over (order by approval_id desc) as nth
              ${newest} limit :most_read
          ) counted
          where (${filters}) or nth = :most_read
          order by approval_id desc limit :limit`;
}

/** In the order of their ids, which is that of their times. */
export const listApprovals: Query<ApprovalsQuestion, ApprovalsPage> = {
  plan: 'in_order',
  text: (dialect, question) => `${described(
    dialect,
    `select ${COLUMNS.map((column) => `v.${column}`).join(', ')}, chosen.matches, chosen.is_last_read
        from (${selectListed(question)}) chosen cross join approvals v where v.approval_id = chosen.approval_id`,
  )}
    order by approval_id desc`,
  values: ({ sponsorKey, agentId, state, after = LAST_APPROVAL_ID, now, limit, mostRead }, { instant }) => ({
    sponsor_key: sponsorKey === undefined ? undefined : storable('sponsor_key', sponsorKey),
    agent_id: agentId,
    state,
    before: after,
    now: instant(now),
    limit,
    most_read: mostRead,
  }),
  read: (rows: readonly ListedRow[]) => {
    const end = rows.findIndex(({ is_last_read }) => is_last_read === 1);
    const read = end === -1 ? rows : rows.slice(0, end + 1);
    return {
      approvals: read.filter(({ matches }) => matches === 1).map(toTaskApproval),
      readUpTo: rows[end]?.approval_id,
    };
  },
};

interface CountQuestion {
  readonly now: Instant;
  readonly most: number;
}

export const countWaitingApprovals: Query<CountQuestion, number> = {
  name: 'count_waiting_approvals',
  plan: 'by_index',
  text: `select count(*) as waiting from (
      select 1 from approvals
        where ${IS_OPEN} and closed_at is null and state = 'pending' and expires_at > :now limit :most
    ) counted`,
  values: ({ now, most }, { instant }) => ({ now: instant(now), most }),
  read: ([row]: readonly { readonly waiting: number }[]) => row?.waiting ?? 0,
};

export function approvals(ask: Ask): Approvals {
  return {
    find: (approvalId) => ask(findApproval, approvalId),
    waitingFor: (sponsorKey, now) => ask(waitingApprovals, { sponsorKey, now }),
    settledFor: (sponsorKey, question) => ask(settledApprovals, { sponsorKey, ...question }),
    ofTask: (taskId, limit) => ask(approvalsOfTask, { taskId, limit }),
    list: (question) => ask(listApprovals, question),
    countWaiting: (question) => ask(countWaitingApprovals, question),
  };
}

interface NoticeRow extends ReadRow<typeof tables.approval_notices> {
  readonly approval_id: ApprovalId;
  readonly sponsor_key: SponsorKey;
  readonly state: string | null;
}

/**
 * A person gets one notice a minute. So a row that is due later delays all others of this person. An instance is sending it, the
 * receiver did not take it, or it was sent a moment ago.
 */
const noneLater = (sponsorKey: string) => `not exists (
        select 1 from approval_notices o
          where o.sponsor_key = ${sponsorKey} and o.due_at > :now and o.due_at <= :latest
      )`;

export const dueNotices: Query<Parameters<ApprovalNotices['due']>[0], readonly ApprovalNotice[]> = {
  name: 'due_notices',
  plan: 'by_index',
  text: `select n.*, (select state from approvals v where v.approval_id = n.approval_id) as state
    from (
      select approval_id, sponsor_key, due_at, failures, is_sent from approval_notices d
        where (due_at <= :now or due_at > :latest) and ${noneLater('d.sponsor_key')}
        order by due_at limit :limit
    ) n`,
  values: ({ now, limit }, { instant }) => ({ now: instant(now), latest: instant(latestDue(now)), limit }),
  read: (rows: readonly NoticeRow[]) =>
    rows.map(({ approval_id, sponsor_key, due_at, failures, is_sent, state }) => ({
      approvalId: approval_id,
      sponsorKey: sponsor_key,
      dueAt: due_at,
      failures,
      isWaiting: state === 'pending' && !is_sent,
    })),
};

export const claimNotices: Command<Parameters<ApprovalNotices['claim']>[0]> = {
  name: 'claim_notices',
  text: `update approval_notices set due_at = :until
    where sponsor_key = :sponsor_key and not is_sent and (due_at <= :now or due_at > :latest)
      and ${noneLater(':sponsor_key')}`,
  values: ({ sponsorKey, now, until }, { instant }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    now: instant(now),
    latest: instant(latestDue(now)),
    until: instant(until),
  }),
};

export const removeNotice: Command<ApprovalId> = {
  name: 'remove_notice',
  text: 'delete from approval_notices where approval_id = :approval_id',
  values: (approvalId) => ({ approval_id: approvalId }),
};

type Settling = Parameters<ApprovalNotices['postpone']>[0];
type Sent = Parameters<ApprovalNotices['sent']>[0];

export const removeTold: Command<Sent> = {
  name: 'remove_told',
  text: `delete from approval_notices
    where sponsor_key = :sponsor_key and due_at = :claimed_until and approval_id <> :approval_id and not is_sent`,
  values: ({ approvalId, sponsorKey, claimedUntil }, { instant }) => ({
    approval_id: approvalId,
    sponsor_key: storable('sponsor_key', sponsorKey),
    claimed_until: instant(claimedUntil),
  }),
};

export const markSent: Command<Sent> = {
  name: 'mark_sent',
  text: 'update approval_notices set is_sent = true, failures = 0, due_at = :until where approval_id = :approval_id',
  values: ({ approvalId, until }, { instant }) => ({ approval_id: approvalId, until: instant(until) }),
};

export const postponeNotices: Command<Settling> = {
  name: 'postpone_notices',
  text: `update approval_notices set failures = failures + 1, due_at = :until
    where sponsor_key = :sponsor_key and due_at = :claimed_until and not is_sent`,
  values: ({ sponsorKey, claimedUntil, until }, { instant }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    claimed_until: instant(claimedUntil),
    until: instant(until),
  }),
};

export function approvalNotices(ask: Ask, change: Change): ApprovalNotices {
  const perform = <Input>(command: Command<Input>, input: Input) =>
    change(function* (): Transaction<number> {
      return yield step(command, input);
    });
  return {
    due: (question) => ask(dueNotices, question),
    claim: async (claim) => (await perform(claimNotices, claim)) > 0,
    async remove(approvalId) {
      await perform(removeNotice, approvalId);
    },
    async sent(sending) {
      await change(function* (): Transaction<number> {
        yield step(removeTold, sending);
        return yield step(markSent, sending);
      });
    },
    async postpone(settling) {
      await perform(postponeNotices, settling);
    },
  };
}
