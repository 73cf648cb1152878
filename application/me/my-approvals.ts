/**
 * The actions of a person's tasks that wait for a yes, and the person's answers. An approval is shown and answered only if the
 * ledger has its words, its names and its state.
 */

import { isOver } from '../../domain/approvals/approval.ts';
import { comparePerson } from '../../domain/approvals/approval-records.ts';
import type { ApprovalId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { saltedText } from '../../domain/ledger/sealed-text.ts';
import { isSignInRecent } from '../../domain/sessions/sign-in-age.ts';
import type { MePerson } from '../../domain/sponsors/me-person.ts';
import { type AnswerVerdict, type ApprovalAnswer, answerApproval } from '../decisions/answer-approval.ts';
import { type Reporting, recordedRows, reportDifferences } from '../ledger/differences.ts';
import type { Approvals, TaskApproval } from '../ports/approvals.ts';
import type { Decisions } from '../ports/decisions.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';
import type { Measurements } from '../ports/telemetry.ts';
import { type Sealing, sealText } from '../seal-text.ts';

interface ApprovalReading extends Reporting {
  readonly approvals: Pick<Approvals, 'find' | 'waitingFor' | 'settledFor'>;
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
  const compared = stored.map((approval) => comparePerson(approval, service.keysAreSubjects));
  const waiting = await recordedRows(service, compared);
  return { waiting, altered: compared.length - waiting.length };
}

/**
 * What the person answered or missed, the latest first. A part of them may be left out: those that are not as the ledger has
 * them, which are reported, and those whose records have been archived.
 */
export async function mySettledApprovals(
  service: ApprovalReading,
  { sponsorKey }: MePerson,
  limit: number,
): Promise<readonly TaskApproval[]> {
  const now = await service.sharedTime.latest();
  const stored = await service.approvals.settledFor(sponsorKey, { now, limit });
  const compared = stored.map((approval) => comparePerson(approval, service.keysAreSubjects));
  return (await recordedRows(service, compared)).map((approval) => asOf(approval, now));
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
  return asOf(found, await service.sharedTime.latest());
}

function asOf(approval: TaskApproval, latest: Instant): TaskApproval {
  return isOver(approval, latest) ? { ...approval, state: 'expired' } : approval;
}

async function findOwn(
  service: ApprovalReading,
  { sponsorKey }: MePerson,
  approvalId: ApprovalId,
): Promise<TaskApproval | 'altered' | undefined> {
  const stored = await service.approvals.find(approvalId);
  if (stored?.row.sponsorKey !== sponsorKey) return undefined;
  const compared = comparePerson(stored, service.keysAreSubjects);
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

export interface MyAnswer extends Pick<ApprovalAnswer, 'approvalId' | 'answer' | 'commitment'> {
  /** With a no: why not. Not blank. */
  readonly says?: string | undefined;
}

interface Answering extends ApprovalReading, Freshness, Sealing {
  readonly decisions: Decisions;
  readonly sharedTime: SharedTime;
  /** Seconds: how long a yes may be used. */
  readonly spend: number;
  readonly measurements: Pick<Measurements, 'approvalStep'> | undefined;
}

/** An agent may hold an old token or session of the person: a yes needs a recent sign-in, a no does not. */
export async function answerMyApproval(
  service: Answering,
  person: MePerson,
  { approvalId, answer, commitment, says: text }: MyAnswer,
): Promise<AnswerVerdict> {
  const { decisions, clock, sharedTime, spend, measurements } = service;
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
  const verdict = await decisions.decide(answerApproval, {
    approvalId,
    about,
    sponsorKey,
    answer,
    commitment,
    says: text === undefined ? undefined : { text, ...sealText(service, (salt) => saltedText(salt, text)) },
    spend,
    times,
    tooOld,
    at,
  });
  // The same answer again has the same verdict, and changes nothing.
  const isAnswered = found.state === 'pending' && (verdict === 'granted' || verdict === 'refused');
  if (isAnswered) measurements?.approvalStep(verdict);
  return verdict;
}
