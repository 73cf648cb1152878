/** Routes of `/me/approvals`: the actions that wait for the person, and the person's answers, for a program. */

import type { Request, RequestHandler, Response, Router } from 'express';
import type { AnswerVerdict } from '../../../application/decisions/answer-approval.ts';
import type { MyAnswer, WaitingApprovals } from '../../../application/me/my-approvals.ts';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import { type FieldError, fieldErrors } from '../../../domain/field-error.ts';
import { type ApprovalId, parseApprovalId } from '../../../domain/identifiers.ts';
import { toShortText } from '../../../domain/instant.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { discardRest } from '../message/body.ts';
import { readJsonBody } from '../message/json-body.ts';
import { answerInvalid, answerProblem, methodNotAllowed } from '../message/problem-details.ts';

/** What the API and the page ask. */
export interface MyApprovals {
  list(person: MePerson): Promise<WaitingApprovals>;
  /** In any state. `undefined` if it is not stored, or is another person's; `altered` if it is not as it was recorded. */
  find(person: MePerson, approvalId: ApprovalId): Promise<TaskApproval | 'altered' | undefined>;
  /** Whether the person signed in lately enough to say yes. */
  mayApprove(person: MePerson): Promise<boolean>;
  answer(person: MePerson, answer: MyAnswer): Promise<AnswerVerdict>;
  /** Seconds: how old the sign-in of a person who says yes may be. */
  readonly maxAuthAge: number;
}

/** @param personOf the person whose credential was checked before */
export function serveApprovals(router: Router, approvals: MyApprovals, personOf: (response: Response) => MePerson) {
  const list: RequestHandler = async (request, response) => {
    discardRest(request);
    const { waiting, altered } = await approvals.list(personOf(response));
    // A list without the altered ones would say that they do not wait.
    if (altered > 0) answerVerdict(response, 'altered', approvals.maxAuthAge);
    else response.json({ approvals: waiting.map(presentApproval) });
  };
  const answer = async (request: Request<{ approvalId: string }>, response: Response): Promise<void> => {
    const approvalId = parseApprovalId(request.params.approvalId);
    if (approvalId === undefined) {
      discardRest(request);
      return answerVerdict(response, 'not_found', approvals.maxAuthAge);
    }
    const body = await readJsonBody(request as Request);
    if (body === undefined) return;
    if (typeof body === 'function') return body(response);
    const given = readAnswer(body);
    if ('errors' in given) return answerInvalid(response, given.errors);
    const verdict = await approvals.answer(personOf(response), { approvalId, ...given });
    answerVerdict(response, verdict, approvals.maxAuthAge);
  };
  router.route('/approvals').get(list).all(methodNotAllowed('GET, HEAD'));
  router.route('/approvals/:approvalId').post(answer).all(methodNotAllowed('POST'));
}

function presentApproval(approval: TaskApproval): Record<string, unknown> {
  const { title, lines, commitment } = approval;
  return {
    approval_id: approval.approvalId,
    task_id: approval.taskId,
    agent_id: approval.agentId,
    display_name: approval.displayName ?? null,
    audience: approval.audience,
    title,
    lines: lines.map(({ label, value }) => ({ label, value })),
    commitment,
    requested_at: toShortText(approval.requestedAt),
    expires_at: toShortText(approval.expiresAt),
  };
}

export const DECISION = 'decision';
export const COMMITMENT = 'commitment';
const SHA256_HEX = /^[0-9a-f]{64}$/;

export function readAnswer(
  body: JsonObject,
): Omit<MyAnswer, 'approvalId'> | { readonly errors: readonly FieldError[] } {
  const { [DECISION]: answer, [COMMITMENT]: commitment, ...others } = body;
  const errors = Object.keys(others).flatMap((name) => fieldErrors(name, 'Is not a field of an answer.'));
  const isAnswer = answer === 'approve' || answer === 'refuse';
  const isCommitment = typeof commitment === 'string' && SHA256_HEX.test(commitment);
  if (isAnswer && isCommitment && errors.length === 0) return { answer, commitment };
  return {
    errors: [
      ...errors,
      ...(isAnswer ? [] : fieldErrors(DECISION, 'Must be approve or refuse.')),
      ...(isCommitment ? [] : fieldErrors(COMMITMENT, 'Must be the commitment of the approval.')),
    ],
  };
}

function answerVerdict(response: Response, verdict: AnswerVerdict, maxAge: number): void {
  switch (verdict) {
    case 'granted':
    case 'refused':
      response.json({ state: verdict });
      break;
    case 'not_found':
      answerProblem(response, { status: 404, detail: 'You have no such approval.', reason: 'unknown_approval' });
      break;
    case 'altered':
    case 'other_words':
    case 'not_waiting':
      answerProblem(response, { status: 409, error: verdict, detail: CONFLICTS[verdict], reason: verdict });
      break;
    case 'sign_in_too_old': {
      // RFC 9470 §3
      const error = 'insufficient_user_authentication';
      response.set('WWW-Authenticate', `Bearer error="${error}", max_age=${maxAge}`);
      const detail = `Sign in again: a yes counts only within ${maxAge} seconds of signing in.`;
      answerProblem(response, { status: 401, error, detail, reason: 'approver_not_fresh' });
    }
  }
}

const CONFLICTS = {
  altered: 'An approval was changed after it was recorded. It cannot be shown or answered.',
  other_words: 'The approval has other words than those of this commitment. Nothing was changed: read it again.',
  not_waiting: 'The approval does not wait for this answer: it was answered, its time is up, or its task is over.',
} as const;
