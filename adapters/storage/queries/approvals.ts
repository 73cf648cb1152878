/** Queries of approvals, and the notices that they wait. */

import type { ApprovalNotice, ApprovalNotices, Approvals, TaskApproval } from '../../../application/ports/approvals.ts';
import type { Approval } from '../../../domain/approvals/approval.ts';
import type { ApprovalOrigin } from '../../../domain/approvals/approval-records.ts';
import type { ApprovalId, SponsorKey, TaskId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import type { Compared } from '../../../domain/ledger/compared.ts';
import { latestDue } from '../../../domain/ledger/delivery.ts';
import type { Dialect } from '../dialect.ts';
import { type RecordedApprovalRow, type TaskApprovalRow, toApproval, toTaskApproval } from '../rows/approval-row.ts';
import { storable } from '../rows/column.ts';
import { recordsOfApproval } from '../rows/recorded.ts';
import { columnsOf, tables } from '../tables.ts';
import { type Ask, type Change, type Command, type Query, step, type Transaction } from './query.ts';

const COLUMNS = columnsOf(tables.approvals).join(', ');

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

export const findApproval: Query<ApprovalId, Compared<TaskApproval> | undefined> = {
  name: 'find_approval',
  plan: 'by_index',
  text: (dialect) => described(dialect, `select ${COLUMNS} from approvals where approval_id = :approval_id`),
  values: (approvalId) => ({ approval_id: approvalId }),
  read: ([row]: readonly TaskApprovalRow[]) => row && toTaskApproval(row),
};

/** The highest limit of approvals that wait for one person. */
const MOST_WAITING = 1000;

interface WaitingQuestion {
  readonly sponsorKey: SponsorKey;
  readonly now: Instant;
}

export const waitingApprovals: Query<WaitingQuestion, readonly Compared<TaskApproval>[]> = {
  name: 'waiting_approvals',
  plan: 'by_index',
  text: (dialect) => `${described(
    dialect,
    `select ${COLUMNS} from approvals
        where sponsor_key = :sponsor_key and state = 'pending' and expires_at > :now limit ${MOST_WAITING}`,
  )}
    order by requested_at, approval_id`,
  values: ({ sponsorKey, now }, { instant }) => ({
    sponsor_key: storable('sponsor_key', sponsorKey),
    now: instant(now),
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
      select ${COLUMNS} from approvals where task_id = :task_id
        order by requested_at desc, approval_id desc limit :limit
    ) found
    order by requested_at desc, approval_id desc`,
  values: ({ taskId, limit }) => ({ task_id: taskId, limit }),
  read: (rows: readonly RecordedApprovalRow[]) => rows.map(toApproval),
};

interface CountQuestion {
  readonly now: Instant;
  readonly most: number;
}

export const countWaitingApprovals: Query<CountQuestion, number> = {
  name: 'count_waiting_approvals',
  plan: 'by_index',
  // The condition of the partial index `approvals_open`, word by word: SQLite needs that.
  text: `select count(*) as waiting from (
      select 1 from approvals
        where state in ('pending', 'granted') and closed_at is null and state = 'pending' and expires_at > :now limit :most
    ) counted`,
  values: ({ now, most }, { instant }) => ({ now: instant(now), most }),
  read: ([row]: readonly { readonly waiting: number }[]) => row?.waiting ?? 0,
};

export function approvals(ask: Ask): Approvals {
  return {
    find: (approvalId) => ask(findApproval, approvalId),
    waitingFor: (sponsorKey, now) => ask(waitingApprovals, { sponsorKey, now }),
    ofTask: (taskId, limit) => ask(approvalsOfTask, { taskId, limit }),
    countWaiting: (question) => ask(countWaitingApprovals, question),
  };
}

interface NoticesQuestion {
  readonly now: Instant;
  readonly limit: number;
}

interface NoticeRow {
  readonly approval_id: ApprovalId;
  readonly sponsor_key: SponsorKey;
  readonly due_at: Instant;
  readonly failures: number;
  readonly is_sent: boolean | number;
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

export const dueNotices: Query<NoticesQuestion, readonly ApprovalNotice[]> = {
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

interface Claim {
  readonly sponsorKey: SponsorKey;
  readonly now: Instant;
  readonly until: Instant;
}

export const claimNotices: Command<Claim> = {
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

interface Settling {
  readonly sponsorKey: SponsorKey;
  /** The end of the claim, by which its rows are known: later ones are not settled. */
  readonly claimedUntil: Instant;
  readonly until: Instant;
}

interface Sent extends Settling {
  readonly approvalId: ApprovalId;
}

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
