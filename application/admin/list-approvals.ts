/** Approvals as operators see them: those of all people in pages, newest first, each compared with its records. */

import type { Approval } from '../../domain/approvals/approval.ts';
import { type ApprovalOrigin, comparePerson } from '../../domain/approvals/approval-records.ts';
import { type ApprovalId, parseApprovalId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Compared } from '../../domain/ledger/compared.ts';
import { MOST_READ } from '../ledger/query.ts';
import type { ApprovalFilters, Approvals, TaskApproval } from '../ports/approvals.ts';
import type { Digest, SharedTime } from '../ports/runtime.ts';
import { type ListPage, listPage, type PageQuestion } from './list-page.ts';

interface ApprovalListing {
  readonly approvals: Pick<Approvals, 'list'>;
  readonly sharedTime: Pick<SharedTime, 'latest'>;
  readonly digest: Digest;
  /** Whether people's sponsor keys are their `sub`, so that the ledger names the person who may answer. */
  readonly keysAreSubjects: boolean;
}

export interface ListApprovalsQuestion extends PageQuestion {
  readonly filters: ApprovalFilters;
}

export type ComparedApproval = Compared<TaskApproval, ApprovalOrigin>;

export interface ListedApprovals {
  readonly page: ListPage<ComparedApproval>;
  /** By the later of the shared clocks. An approval that is over by this one is over for its person, too. */
  readonly latest: Instant;
}

export async function listApprovals(
  { approvals, sharedTime, digest, keysAreSubjects }: ApprovalListing,
  { filters, ...question }: ListApprovalsQuestion,
): Promise<ListedApprovals> {
  const { sponsorKey, agentId, state } = filters;
  const latest = await sharedTime.latest();
  const list = {
    query: ['approvals', sponsorKey, agentId, state],
    parse: ([id = '', ...more]: readonly string[]) => (more.length === 0 ? parseApprovalId(id) : undefined),
    read: async (after: ApprovalId | undefined, limit: number) => {
      const found = await approvals.list({ ...filters, after, limit, mostRead: MOST_READ, now: latest });
      const items = found.approvals.map((compared) => comparePerson(compared, keysAreSubjects));
      return { items, readUpTo: found.readUpTo && [found.readUpTo] };
    },
    positionOf: ({ row }: ComparedApproval) => [(row satisfies Approval).approvalId],
  } as const;
  return { page: await listPage(digest, list, question), latest };
}
