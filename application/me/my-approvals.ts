/** The actions of a person's tasks that wait for a yes, and the person's answers. */

import { isOpen } from '../../domain/approvals/approval.ts';
import type { ApprovalId } from '../../domain/identifiers.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { isSignInRecent } from '../../domain/sessions/sign-in-age.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { type AnswerVerdict, type ApprovalAnswer, answerApproval } from '../decisions/answer-approval.ts';
import type { Approvals, TaskApproval } from '../ports/approvals.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';

export interface ApprovalReading {
  readonly approvals: Pick<Approvals, 'find' | 'waitingFor'>;
  readonly sharedTime: Pick<SharedTime, 'latest'>;
}

/** Those that wait, oldest first. */
export async function myApprovals(
  { approvals, sharedTime }: ApprovalReading,
  { sponsorKey }: MePerson,
): Promise<readonly TaskApproval[]> {
  return approvals.waitingFor(sponsorKey, await sharedTime.latest());
}

/**
 * An approval in any state. It is `expired` from the end of its time, although the sweeper has not recorded that yet.
 * `undefined` if it is not stored, or is another person's.
 */
export async function myApproval(
  { approvals, sharedTime }: ApprovalReading,
  { sponsorKey }: MePerson,
  approvalId: ApprovalId,
): Promise<TaskApproval | undefined> {
  const found = await approvals.find(approvalId);
  if (found?.sponsorKey !== sponsorKey) return undefined;
  const isOver = isOpen(found) && found.expiresAt <= (await sharedTime.latest());
  return isOver ? { ...found, state: 'expired' } : found;
}

interface Freshness {
  readonly clock: Clock;
  readonly sharedTime: Pick<SharedTime, 'latest'>;
  /** Seconds since the sign-in of a person who says yes, at most. */
  readonly maxAuthAge: number;
}

/** Whether the person signed in lately enough to say yes. */
export async function mayApprove({ clock, sharedTime, maxAuthAge }: Freshness, person: MePerson): Promise<boolean> {
  return isSignInRecent(person, maxAuthAge, { now: clock.now(), latest: await sharedTime.latest() });
}

export type MyAnswer = Pick<ApprovalAnswer, 'approvalId' | 'answer' | 'commitment'>;

interface Answering extends ApprovalReading, Freshness {
  readonly decisions: Decisions;
  readonly sharedTime: SharedTime;
  /** Seconds: how long a yes may be used. */
  readonly spend: number;
}

/** An agent may hold an old token or session of the person: a yes needs a recent sign-in, a no does not. */
export async function answerMyApproval(
  service: Answering,
  person: MePerson,
  { approvalId, answer, commitment }: MyAnswer,
): Promise<AnswerVerdict> {
  const { approvals, decisions, clock, sharedTime, spend } = service;
  const found = await approvals.find(approvalId);
  if (found?.sponsorKey !== person.sponsorKey) return 'not_found';
  const { taskId, agentId, sponsor, audience, sponsorKey } = found;
  const about = { taskId, agentId, sponsor, audience };
  const at = clock.now();
  const tooOld: LedgerEntry | undefined = (await mayApprove(service, person))
    ? undefined
    : { at, event: 'me.denied', ...about, sponsor: person.subject, decision: 'deny', reason: 'approver_not_fresh' };
  const times = { earliest: await sharedTime.earliest(), latest: await sharedTime.latest() };
  return decisions.decide(answerApproval, {
    approvalId,
    about,
    sponsorKey,
    answer,
    commitment,
    spend,
    times,
    tooOld,
    at,
  });
}
