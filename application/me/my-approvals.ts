/**
 * The actions of a person's tasks that wait for a yes, and the person's answers. An approval is shown and answered only if the
 * ledger has its words, its names and its state.
 */

import { isOpen } from '../../domain/approvals/approval.ts';
import type { ApprovalId } from '../../domain/identifiers.ts';
import type { Compared, Difference } from '../../domain/ledger/compared.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { isSignInRecent } from '../../domain/sessions/sign-in-age.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { type AnswerVerdict, type ApprovalAnswer, answerApproval } from '../decisions/answer-approval.ts';
import { type Reporting, recordedRows, reportDifferences } from '../ledger/differences.ts';
import type { Approvals, TaskApproval } from '../ports/approvals.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';

export interface ApprovalReading extends Reporting {
  readonly approvals: Pick<Approvals, 'find' | 'waitingFor'>;
  readonly sharedTime: Pick<SharedTime, 'latest'>;
  /** Whether people's sponsor keys are their `sub`, so that the ledger names the person who may answer. */
  readonly keysAreSubjects: boolean;
}

export interface WaitingApprovals {
  /** Oldest first. */
  readonly waiting: readonly TaskApproval[];
  /** How many of the person's rows are not as the ledger has them. */
  readonly altered: number;
}

export async function myApprovals(service: ApprovalReading, { sponsorKey }: MePerson): Promise<WaitingApprovals> {
  const stored = await service.approvals.waitingFor(sponsorKey, await service.sharedTime.latest());
  const compared = stored.map((approval) => ofItsPerson(service, approval));
  const waiting = await recordedRows(service, compared);
  return { waiting, altered: compared.length - waiting.length };
}

/** The record names the person by `sub`: a row with another key is another person's. */
function ofItsPerson(
  { keysAreSubjects }: Pick<ApprovalReading, 'keysAreSubjects'>,
  compared: Compared<TaskApproval>,
): Compared<TaskApproval> {
  const { row } = compared;
  if (compared.kind === 'differs' || !keysAreSubjects || row.sponsorKey === row.sponsor) return compared;
  const difference: Difference = { what: 'approval', id: row.approvalId, how: 'names' };
  return { kind: 'differs', row, difference };
}

/**
 * An approval in any state. It is `expired` from the end of its time, although the sweeper has not recorded that yet.
 * `undefined` if it is not stored, or is another person's; `altered` if it is not as the ledger has it.
 */
export async function myApproval(
  service: ApprovalReading,
  person: MePerson,
  approvalId: ApprovalId,
): Promise<TaskApproval | 'altered' | undefined> {
  const found = await findOwn(service, person, approvalId);
  if (found === undefined || found === 'altered') return found;
  const isOver = isOpen(found) && found.expiresAt <= (await service.sharedTime.latest());
  return isOver ? { ...found, state: 'expired' } : found;
}

async function findOwn(
  service: ApprovalReading,
  { sponsorKey }: MePerson,
  approvalId: ApprovalId,
): Promise<TaskApproval | 'altered' | undefined> {
  const stored = await service.approvals.find(approvalId);
  if (stored?.row.sponsorKey !== sponsorKey) return undefined;
  const compared = ofItsPerson(service, stored);
  if (compared.kind === 'same') return compared.row;
  await reportDifferences(service, [compared.difference]);
  return 'altered';
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
  const { decisions, clock, sharedTime, spend } = service;
  const found = await findOwn(service, person, approvalId);
  if (found === undefined) return 'not_found';
  if (found === 'altered') return 'altered';
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
