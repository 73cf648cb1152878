/** The effects on approvals and their notices, and their end with their task. */

import type { Effect } from '../../application/decisions/effect.ts';
import type { Approval } from '../../domain/approvals/approval.ts';
import { makeApprovalId } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { aTask, type EffectRows, fact, type See } from './effect-row.ts';
import { ulid } from './storage-fixtures.ts';
import { LATER } from './world.ts';

/** A pending approval of a new task, with the effects that store its task. */
export function anApproval(changes: Partial<Approval> = {}, stored = aTask()) {
  const { task, agent, given } = stored;
  const approval: Approval = {
    approvalId: makeApprovalId(ulid()),
    taskId: task.taskId,
    sponsorKey: task.sponsorKey,
    round: 3,
    digest: `digest-of-${ulid()}`,
    commitment: 'c'.repeat(64),
    salt: 'a salt',
    title: 'Send “é 😀”\u202E',
    lines: [
      { label: 'To', value: '<b>grace</b> \\ "quoted"' },
      { label: 'When', value: 'now' },
    ],
    state: 'pending',
    requestedAt: plusSeconds(NOON, 1),
    expiresAt: plusSeconds(NOON, 601),
    decidedAt: undefined,
    closedAt: undefined,
    wordsChanged: false,
    says: undefined,
    ...changes,
  };
  const about = {
    agentId: task.agentId,
    displayName: agent.displayName,
    sponsor: task.sponsor,
    audience: task.audience,
  };
  const insert: Effect = { effect: 'insert_approval', ...approval };
  return { approval, shown: { ...approval, ...about }, stored, given, insert };
}

/** An approval, or its fact, as it is read without a record in the ledger. */
export function unrecorded<Row extends Approval>(row: Row) {
  const written = { at: row.requestedAt };
  const difference = { what: 'approval', id: row.approvalId, how: 'no_record', written } as const;
  return { kind: 'differs', row, difference } as const;
}

export const effectsOfApprovals = {
  insert_approval() {
    const { approval, shown, given, insert } = anApproval();
    const { approvalId, taskId, digest, sponsorKey, expiresAt } = approval;
    const pending = (at: typeof NOON) => fact('pending_approvals', { taskId, at });
    const waiting =
      (at: typeof NOON): See =>
      ({ approvals }) =>
        approvals.waitingFor(sponsorKey, at);
    const none = { ofTask: 0, ofAgent: 0, ofPerson: 0 };
    return {
      given,
      effect: insert,
      seen: [
        [fact('approval', approvalId), undefined, unrecorded(approval)],
        [fact('last_approval', { taskId, digest }), undefined, unrecorded(approval)],
        [fact('last_approval', { taskId, digest: digest.toLowerCase() }), undefined, undefined],
        [pending(NOON), none, { ofTask: 1, ofAgent: 1, ofPerson: 1 }],
        [pending(expiresAt), none, none],
        [({ approvals }) => approvals.find(approvalId), undefined, unrecorded(shown)],
        [({ approvals }) => approvals.ofTask(taskId, 9), [], [unrecorded(approval)]],
        [waiting(NOON), [], [unrecorded(shown)]],
        [waiting(expiresAt), [], []],
      ],
    };
  },

  answer_approval() {
    const [{ approval, given, insert }, other] = [anApproval(), anApproval()];
    const { approvalId } = approval;
    const says = { text: 'Not to “é 😀”\u202E', salt: 'another salt' };
    const answered = { state: 'refused', decidedAt: LATER, expiresAt: plusSeconds(LATER, 9), says } as const;
    const untouched = unrecorded(other.approval);
    return {
      given: [...given, insert, ...other.given, other.insert],
      effect: {
        effect: 'answer_approval',
        approvalId,
        state: answered.state,
        at: LATER,
        expiresAt: answered.expiresAt,
        says,
      },
      seen: [
        [fact('approval', approvalId), unrecorded(approval), unrecorded({ ...approval, ...answered })],
        [fact('approval', other.approval.approvalId), untouched, untouched],
        [
          ({ approvals }) => approvals.waitingFor(other.approval.sponsorKey, NOON),
          [unrecorded(other.shown)],
          [unrecorded(other.shown)],
        ],
      ],
    };
  },

  close_approval() {
    const [{ approval, given, insert }, other] = [anApproval({ state: 'granted', decidedAt: NOON }), anApproval()];
    const { approvalId } = approval;
    const { approvalId: replaced } = other.approval;
    const untouched = unrecorded({ ...other.approval, state: 'withdrawn', closedAt: NOON, wordsChanged: true });
    const withdraw: Effect = { effect: 'close_approval', approvalId: replaced, state: 'withdrawn', at: NOON };
    return {
      given: [...given, insert, ...other.given, other.insert, withdraw],
      effect: { effect: 'close_approval', approvalId, state: 'used', at: LATER },
      seen: [
        [
          fact('approval', approvalId),
          unrecorded(approval),
          unrecorded({ ...approval, state: 'used', closedAt: LATER }),
        ],
        [fact('approval', replaced), untouched, untouched],
      ],
    };
  },

  insert_approval_notice() {
    const { approval, given, insert } = anApproval();
    const { approvalId, sponsorKey } = approval;
    const dueAt = plusSeconds(NOON, -1000);
    const due =
      (now: typeof NOON): See =>
      async ({ approvalNotices }) =>
        (await approvalNotices.due({ now, limit: 99 })).filter((notice) => notice.approvalId === approvalId);
    const notice = { approvalId, sponsorKey, dueAt, failures: 0, isWaiting: true };
    return {
      given: [...given, insert],
      effect: { effect: 'insert_approval_notice', approvalId, sponsorKey, dueAt },
      seen: [
        [due(plusSeconds(dueAt, -1)), [], []],
        [due(dueAt), [], [notice]],
      ],
    };
  },

  put_asked_questions() {
    const stored = aTask();
    const { taskId, agentId, sponsorKey } = stored.task;
    const other = aTask({ sponsorKey });
    const first = { asked: 1, isRefused: false, forgetAt: LATER };
    const next = { asked: 60, isRefused: true, forgetAt: plusSeconds(LATER, 1) };
    return {
      given: [...stored.given, ...other.given, { effect: 'put_asked_questions', agentId, sponsorKey, ...first }],
      effect: { effect: 'put_asked_questions', agentId, sponsorKey, ...next },
      seen: [
        [fact('asked_questions', { agentId, taskId }), first, next],
        [fact('asked_questions', { agentId: other.task.agentId, taskId }), undefined, undefined],
        [fact('asked_questions', { agentId, taskId: aTask().task.taskId }), undefined, undefined],
      ],
    };
  },
} satisfies Partial<EffectRows>;
