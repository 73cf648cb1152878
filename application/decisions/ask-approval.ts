/**
 * A tool server asks whether an action of a task is approved (`POST /oauth2/approval`). The same decision uses up a yes, and
 * opens an approval if none is open. A tool server polls by asking again. It learns of each yes once.
 *
 * A yes is about the words that the person read. If the same call comes with other words, the open approval is withdrawn and a
 * new one opens (docs/decisions/0032-one-action-one-yes.md).
 *
 * The row of an open approval counts only if the ledger agrees. A yes is used only if the ledger has its `approval.granted` and
 * no `approval.used` (domain/approvals/approval-records.ts).
 */

import {
  type Approval,
  approvalDetail,
  hasSameWords,
  isOpen,
  isOver,
  POLL_INTERVAL_SECONDS,
  SPENT_FOR_SECONDS,
  WORDS_CHANGED,
} from '../../domain/approvals/approval.ts';
import type { ApprovalOrigin } from '../../domain/approvals/approval-records.ts';
import { earlierOf } from '../../domain/clocks.ts';
import type { AgentId, ApprovalId, TokenId } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds, secondsBetween } from '../../domain/instant.ts';
import type { Difference } from '../../domain/ledger/compared.ts';
import type { LedgerEntry, LedgerEvent } from '../../domain/ledger/record.ts';
import { isTimeUp } from '../../domain/tasks/lifetime.ts';
import { decision, type Judgement } from './decision.ts';
import { type Effect, recorded } from './effect.ts';
import { type Answers, type AskedQuestions, ask } from './fact.ts';
import { exclusive, shared } from './lock.ts';
import { accept, isAccepted, type SignalOccurrence, signalLock } from './signal.ts';

export interface ApprovalAsking {
  readonly about: ApprovalOrigin;
  readonly tokenId: TokenId;
  /** The agents that delegated the task. */
  readonly delegators: readonly AgentId[];
  /** The request, which is accepted once. Its `at` dates the records. */
  readonly request: SignalOccurrence;
  /** The approval to open if none is open. Its times are cut to those of the task. */
  readonly opening: Pick<Approval, 'approvalId' | 'digest' | 'title' | 'lines' | 'salt' | 'commitment'>;
  readonly rules: ApprovalRules;
  readonly times: ApprovalTimes;
}

export interface ApprovalRules {
  /** Seconds. */
  readonly lifetime: number;
  readonly refusedFor: number;
  readonly maxPendingPerTask: number;
  readonly maxPendingPerPerson: number;
  /** New questions of one agent to one person. */
  readonly maxQuestionsPerHour: number;
  /** Whether a notice of a new approval is queued. */
  readonly notifies: boolean;
  /** Whether people's sponsor keys are their `sub`, so that the ledger names the person who may answer. */
  readonly keysAreSubjects: boolean;
}

/**
 * The earlier and the later of two clocks. By the later one an approval can no longer be answered or used, by the earlier one
 * it has expired for every instance.
 */
export interface ApprovalTimes {
  readonly earliest: Instant;
  readonly latest: Instant;
}

export type AskVerdict =
  | { readonly kind: 'pending'; readonly approvalId: ApprovalId; readonly expiresAt: Instant }
  /** This very decision used it up. */
  | { readonly kind: 'granted'; readonly approvalId: ApprovalId; readonly approvedAt: Instant }
  /** `says`: why not, if the person said so. `difference`: they did, and the stored row differs from the ledger. */
  | { readonly kind: 'refused'; readonly says?: string; readonly difference?: Difference }
  | { readonly kind: 'expired' | 'spent' | 'inactive' }
  /** The open approval, or its task, differs from the ledger. Only the acceptance of the request was written. */
  | { readonly kind: 'altered'; readonly difference: Difference }
  /** Nothing was written. */
  | { readonly kind: 'replayed' }
  | { readonly kind: 'too_many_pending' }
  /** `isRecorded`: this decision recorded the refusal with names, which happens once an hour. */
  | { readonly kind: 'too_many_questions'; readonly retryAfter: number; readonly isRecorded: boolean };

export const askApproval = decision({
  name: 'ask_approval',
  transaction: 'shared',

  locks: ({ about, delegators, tokenId, request }: ApprovalAsking) => [
    ...[...new Set([about.agentId, ...delegators])].map((agentId) => shared('agent', agentId)),
    signalLock('approval', request),
    shared('token', tokenId),
    exclusive('approver', about.sponsor),
    exclusive('task', about.taskId),
  ],

  asks: questionsOf,

  judge: (asking, facts): Judgement<AskVerdict> => {
    if (facts.wasAccepted) return { verdict: { kind: 'replayed' }, effects: [] };
    const accepted = accept('approval', asking.request);
    const { verdict, effects, entries } = judgeAsking(asking, facts);
    return { verdict, effects: [accepted, ...effects, ...recorded(entries)] };
  },

  denial: (_asking, verdict) =>
    verdict.kind === 'too_many_questions' && verdict.isRecorded
      ? { event: 'token.denied', reason: 'too_many_questions' }
      : undefined,
});

function questionsOf({ about: { taskId, agentId }, delegators, tokenId, request, opening, times }: ApprovalAsking) {
  return {
    wasAccepted: isAccepted('approval', request),
    areEnabled: [agentId, ...delegators].map((each) => ask('agent_enabled', each)),
    isRevoked: ask('token_revoked', tokenId),
    task: ask('task_state', taskId),
    sponsorKey: ask('task_sponsor', taskId),
    last: ask('last_approval', { taskId, digest: opening.digest }),
    pending: ask('pending_approvals', { taskId, at: times.earliest }),
    counted: ask('asked_questions', { agentId, taskId }),
  };
}

type AskFacts = Answers<ReturnType<typeof questionsOf>>;

interface AskJudgement {
  readonly verdict: AskVerdict;
  readonly effects: readonly Effect[];
  readonly entries: readonly LedgerEntry[];
}

const answered = (verdict: AskVerdict): AskJudgement => ({ verdict, effects: [], entries: [] });

function judgeAsking(asking: ApprovalAsking, facts: AskFacts): AskJudgement {
  const { rules, times } = asking;
  const { task } = facts;
  const isActive =
    task?.state === 'live' && !isTimeUp(task, times.latest) && facts.areEnabled.every(Boolean) && !facts.isRevoked;
  if (!isActive) return answered({ kind: 'inactive' });
  const difference = differenceOf(asking, facts);
  if (difference !== undefined) return answered({ kind: 'altered', difference });
  const last = facts.last?.row;
  if (last === undefined) return openApproval(asking, facts);
  if (isOpen(last)) return judgeOpen(asking, facts, last);
  const { state, decidedAt, closedAt } = last;
  const isWithin = (since: Instant | undefined, seconds: number) =>
    since !== undefined && times.earliest < plusSeconds(since, seconds);
  if (state === 'refused' && isWithin(decidedAt, rules.refusedFor)) return answered(refusedAs(facts.last));
  if (state === 'used' && isWithin(closedAt, SPENT_FOR_SECONDS)) return answered({ kind: 'spent' });
  return openApproval(asking, facts);
}

/** @param last is open, and as the ledger has it */
function judgeOpen(asking: ApprovalAsking, facts: AskFacts, last: Approval): AskJudgement {
  const { about, request, times } = asking;
  const { approvalId, state, expiresAt } = last;
  if (isOver(last, times.earliest)) return openApproval(asking, facts, expireApproval(about, last, request.at));
  // Another instance may still take it for open.
  if (isOver(last, times.latest)) return answered({ kind: 'expired' });
  const isAsRead = hasSameWords(last, asking.opening);
  if (state === 'pending' && (isAsRead || isWithinInterval(last, times))) {
    return answered({ kind: 'pending', approvalId, expiresAt });
  }
  if (!isAsRead) return openApproval(asking, facts, withdrawForWords(about, last, request.at));
  return {
    verdict: { kind: 'granted', approvalId, approvedAt: last.decidedAt ?? request.at },
    effects: [{ effect: 'close_approval', approvalId, state: 'used', at: request.at }],
    entries: [approvalEntry('approval.used', about, last, request.at)],
  };
}

/** So two tool servers with different words replace a waiting question at most once in this time. */
function isWithinInterval({ requestedAt }: Approval, { earliest }: ApprovalTimes): boolean {
  // A request in the future is from a clock that is ahead. It delays a replacement for no longer than any other.
  return Math.abs(secondsBetween(requestedAt, earliest)) < POLL_INTERVAL_SECONDS;
}

function withdrawForWords(about: ApprovalOrigin, last: Approval, at: Instant): EndedApproval {
  return {
    effects: [{ effect: 'close_approval', approvalId: last.approvalId, state: 'withdrawn', at }],
    entries: [{ ...approvalEntry('approval.withdrawn', about, last, at), reason: WORDS_CHANGED }],
    freesPlace: last.state === 'pending',
  };
}

/** A no counts without a comparison. The answer has the person's line only as the ledger has it. */
function refusedAs(last: AskFacts['last']): AskVerdict {
  if (last?.row.says === undefined) return { kind: 'refused' };
  if (last.kind === 'differs') return { kind: 'refused', difference: last.difference };
  return { kind: 'refused', says: last.row.says.text };
}

/**
 * A closed approval is not compared: its state can only refuse the call, or lead to a new question. Its records may have been
 * archived.
 */
function differenceOf(
  { about, rules }: ApprovalAsking,
  { last, sponsorKey }: Pick<AskFacts, 'last' | 'sponsorKey'>,
): Difference | undefined {
  const isPersons = (key: string | undefined) =>
    key === sponsorKey && (!rules.keysAreSubjects || key === undefined || key === about.sponsor);
  if (last === undefined || !isOpen(last.row)) {
    return isPersons(sponsorKey) ? undefined : { what: 'task', id: about.taskId, how: 'names' };
  }
  if (last.kind === 'differs') return last.difference;
  const { agentId, sponsor, audience } = last.record;
  const isNamed = agentId === about.agentId && sponsor === about.sponsor && audience === about.audience;
  if (isNamed && isPersons(last.row.sponsorKey)) return undefined;
  return { what: 'approval', id: last.row.approvalId, how: 'names' };
}

const HOUR_SECONDS = 60 * 60;

/**
 * No agent may hold more than a third of a person's places, so that another agent can always ask.
 *
 * @param freed how many of the counted approvals end with this decision
 */
function hasNoPlace(
  { ofTask, ofAgent, ofPerson }: AskFacts['pending'],
  { maxPendingPerTask, maxPendingPerPerson }: ApprovalRules,
  freed: number,
): boolean {
  const maxPendingPerAgent = Math.max(1, Math.floor(maxPendingPerPerson / 3));
  return (
    ofTask - freed >= maxPendingPerTask ||
    ofAgent - freed >= maxPendingPerAgent ||
    ofPerson - freed >= maxPendingPerPerson
  );
}

/** The hour that the agent's questions to the person count in. It begins with the first question. */
function currentHour(counted: AskedQuestions | undefined, now: Instant): AskedQuestions {
  // A later end is of a clock that was ahead: it would count for a year.
  const latestEnd = plusSeconds(now, 2 * HOUR_SECONDS);
  if (counted !== undefined && counted.forgetAt > now && counted.forgetAt <= latestEnd) return counted;
  return { asked: 0, isRefused: false, forgetAt: plusSeconds(now, HOUR_SECONDS) };
}

function tooManyQuestionsEntry(about: ApprovalOrigin, at: Instant): LedgerEntry {
  return { ...about, at, event: 'token.denied', decision: 'deny', reason: 'too_many_questions' };
}

/** The end of the last approval, which precedes a new one in the same decision. */
interface EndedApproval extends Pick<AskJudgement, 'effects' | 'entries'> {
  /** Whether it was pending, and its time was not up: then it was counted. */
  readonly freesPlace?: boolean;
}

/** @param ended the last approval, if it was still open. It ends also if there is no place for a new one. */
function openApproval(
  { about, request, opening, rules, times }: ApprovalAsking,
  { task, sponsorKey, last, pending, counted }: AskFacts,
  { freesPlace = false, ...before }: EndedApproval = { effects: [], entries: [] },
): AskJudgement {
  if (hasNoPlace(pending, rules, freesPlace ? 1 : 0)) return { ...before, verdict: { kind: 'too_many_pending' } };
  if (task === undefined || sponsorKey === undefined) throw new Error('a live task is not stored');
  const hour = currentHour(counted, times.earliest);
  const count = (changes: Partial<AskedQuestions>): Effect => ({
    effect: 'put_asked_questions',
    agentId: about.agentId,
    sponsorKey,
    ...hour,
    ...changes,
  });
  if (hour.asked >= rules.maxQuestionsPerHour) {
    const { isRefused } = hour;
    const retryAfter = Math.max(1, Math.ceil(secondsBetween(times.earliest, hour.forgetAt)));
    const verdict = { kind: 'too_many_questions', retryAfter, isRecorded: !isRefused } as const;
    if (isRefused) return { ...before, verdict };
    return {
      verdict,
      effects: [...before.effects, count({ isRefused: true })],
      entries: [...before.entries, tooManyQuestionsEntry(about, request.at)],
    };
  }
  const { approvalId } = opening;
  const expiresAt = earlierOf(plusSeconds(times.latest, rules.lifetime), task.expiresAt);
  const approval: Approval = {
    ...opening,
    taskId: about.taskId,
    sponsorKey,
    round: (last?.row.round ?? 0) + 1,
    state: 'pending',
    requestedAt: request.at,
    expiresAt,
    decidedAt: undefined,
    closedAt: undefined,
    wordsChanged: false,
    says: undefined,
  };
  return {
    verdict: { kind: 'pending', approvalId, expiresAt },
    effects: [
      ...before.effects,
      { effect: 'insert_approval', ...approval },
      count({ asked: hour.asked + 1 }),
      ...(rules.notifies
        ? [{ effect: 'insert_approval_notice', approvalId, sponsorKey, dueAt: times.earliest } as const]
        : []),
    ],
    entries: [...before.entries, approvalEntry('approval.requested', about, approval, request.at)],
  };
}

type ClosedApproval = Pick<Approval, 'approvalId' | 'digest' | 'commitment' | 'decidedAt'>;

/** Ends an open approval whose time is up. The reason says whether the person or the agent let it pass. */
export function expireApproval(about: ApprovalOrigin, approval: ClosedApproval, at: Instant) {
  const reason = approval.decidedAt === undefined ? 'approval_unanswered' : 'approval_unused';
  return {
    effects: [{ effect: 'close_approval', approvalId: approval.approvalId, state: 'expired', at }],
    entries: [{ ...approvalEntry('approval.expired', about, approval, at), reason }],
  } as const;
}

/** The record of a change of an approval. */
export function approvalEntry(
  event: Extract<LedgerEvent, `approval.${string}`>,
  about: ApprovalOrigin,
  approval: Pick<Approval, 'approvalId' | 'digest' | 'commitment'>,
  at: Instant,
): LedgerEntry {
  const { taskId, agentId, sponsor, audience } = about;
  return { at, event, taskId, agentId, sponsor, audience, decision: 'allow', detail: approvalDetail(approval) };
}
