/** Routes of `/me/approvals`: the actions that wait for the person, and the person's answers, for a program. */

import type { Request, RequestHandler, Response, Router } from 'express';
import type { AnswerVerdict } from '../../../application/decisions/answer-approval.ts';
import type { TaskApproval } from '../../../application/ports/approvals.ts';
import { parseApprovalId } from '../../../domain/identifiers.ts';
import { toShortText } from '../../../domain/instant.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import { discardRest } from '../message/body.ts';
import { readJsonBody } from '../message/json-body.ts';
import { answerInvalid, answerProblem, methodNotAllowed } from '../message/problem-details.ts';
import { readAnswer } from './parameters.ts';
import type { MyApprovals } from './surface.ts';

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
    const person = personOf(response);
    const verdict = await approvals.answer(person, { approvalId, ...given });
    if (verdict !== 'refused') return answerVerdict(response, verdict, approvals.maxAuthAge);
    const refused = await approvals.find(person, approvalId);
    const says = refused === 'altered' ? undefined : refused?.says;
    response.json({ state: verdict, ...(says && { person_says: says.text }) });
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

function answerVerdict(response: Response, verdict: Exclude<AnswerVerdict, 'refused'>, maxAge: number): void {
  switch (verdict) {
    case 'granted':
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
  not_waiting:
    'The approval does not wait for this answer: it was answered, its time is up, the action has other words now, or its task is over.',
} as const;
