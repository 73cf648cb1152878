/** The person of a task says yes or no to an action that waits (`POST /me/approvals/{id}`). */

import { approvalDetail, isOver } from '../../domain/approvals/approval.ts';
import type { ApprovalOrigin } from '../../domain/approvals/approval-records.ts';
import type { SealedSays } from '../../domain/approvals/person-says.ts';
import { earlierOf } from '../../domain/clocks.ts';
import type { ApprovalId, SponsorKey } from '../../domain/identifiers.ts';
import { type Instant, plusSeconds } from '../../domain/instant.ts';
import { isRecorded } from '../../domain/ledger/compared.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { isTimeUp } from '../../domain/tasks/lifetime.ts';
import { type ApprovalTimes, approvalEntry } from './ask-approval.ts';
import { decision, type Judgement } from './decision.ts';
import { recorded } from './effect.ts';
import { type Answers, ask } from './fact.ts';
import { exclusive, shared } from './lock.ts';

export interface ApprovalAnswer {
  readonly approvalId: ApprovalId;
  /** The task of the approval, which never changes. */
  readonly about: ApprovalOrigin;
  /** Who answers. */
  readonly sponsorKey: SponsorKey;
  readonly answer: 'approve' | 'refuse';
  /** The commitment to the words that the person read. */
  readonly commitment: string;
  /** With a no: why not, if the person says so. */
  readonly says?: SealedSays | undefined;
  /** Seconds: how long a yes may be used. It is cut to the task. */
  readonly spend: number;
  readonly times: ApprovalTimes;
  /** Appended instead of a yes: the person signed in too long ago. `undefined` if they may say yes. */
  readonly tooOld?: LedgerEntry | undefined;
  /** Dates the record. */
  readonly at: Instant;
}

/**
 * Nothing is written unless the approval waits.
 * - `granted`, `refused`: the state after the answer. The same answer again changes nothing.
 * - `not_found`: no such approval of this person is stored.
 * - `altered`: the ledger has other words, another state or other names for it.
 * - `other_words`: the person read other words than those that are stored.
 * - `not_waiting`: it has another answer, its time is up, the same call came with other words, or its task has ended. For a yes also: its agent is disabled.
 * - `sign_in_too_old`: the yes needs a newer sign-in. That is recorded.
 */
export type AnswerVerdict =
  | ('granted' | 'refused')
  | ('not_found' | 'altered' | 'other_words' | 'not_waiting')
  | 'sign_in_too_old';

/** Of two answers, or of an answer and an end of the task, the first one decides: both lock the row of the task. */
export const answerApproval = decision({
  name: 'answer_approval',
  transaction: 'shared',
  locks: ({ about: { agentId, taskId } }: ApprovalAnswer) => [shared('agent', agentId), exclusive('task', taskId)],
  asks: questionsOf,

  judge: (answer, facts): Judgement<AnswerVerdict> => {
    const { about, approvalId, at, says, spend, times, tooOld } = answer;
    const verdict = judgeAnswer(answer, facts);
    const { task } = facts;
    const approval = facts.approval?.row;
    if (approval?.state !== 'pending' || task === undefined || (verdict !== 'granted' && verdict !== 'refused')) {
      return { verdict, effects: [] };
    }
    const isYes = verdict === 'granted';
    if (isYes && tooOld !== undefined) return { verdict: 'sign_in_too_old', effects: recorded([tooOld]) };
    const expiresAt = isYes ? earlierOf(plusSeconds(times.latest, spend), task.expiresAt) : approval.expiresAt;
    const answered = { effect: 'answer_approval', approvalId, state: verdict, at, expiresAt } as const;
    const entry = approvalEntry(isYes ? 'approval.granted' : 'approval.refused', about, approval, at);
    if (isYes) return { verdict, effects: [answered, ...recorded([entry])] };
    const detail = approvalDetail({ ...approval, saysHash: says?.hash });
    const refused: LedgerEntry = { ...entry, decision: 'deny', reason: 'approval_refused', detail };
    return { verdict, effects: [{ ...answered, ...(says && { says }) }, ...recorded([refused])] };
  },

  denial: ({ tooOld }, verdict) =>
    verdict === 'sign_in_too_old' && tooOld ? { event: tooOld.event, reason: 'approver_not_fresh' } : undefined,
});

function questionsOf({ approvalId, about: { agentId, taskId } }: ApprovalAnswer) {
  return {
    approval: ask('approval', approvalId),
    task: ask('task_state', taskId),
    isEnabled: ask('agent_enabled', agentId),
  };
}

function judgeAnswer(
  { about, sponsorKey, answer, commitment, times }: ApprovalAnswer,
  { approval: found, task, isEnabled }: Answers<ReturnType<typeof questionsOf>>,
): AnswerVerdict {
  const approval = found?.row;
  if (approval?.sponsorKey !== sponsorKey || approval.taskId !== about.taskId) return 'not_found';
  if (!isRecorded(found)) return 'altered';
  if (approval.commitment !== commitment) return 'other_words';
  const wanted = answer === 'approve' ? 'granted' : 'refused';
  const isInTime = !isOver(approval, times.latest);
  if (approval.state === wanted) return wanted === 'refused' || isInTime ? wanted : 'not_waiting';
  const isLive = task?.state === 'live' && !isTimeUp(task, times.latest);
  const waits = approval.state === 'pending' && isInTime && isLive;
  return waits && (wanted === 'refused' || isEnabled) ? wanted : 'not_waiting';
}
