/** Routes of the page of one approval, and of its form. */

import type { Request, Response, Router } from 'express';
import { parseApprovalId } from '../../../domain/identifiers.ts';
import type { FormField } from '../browser/guards.ts';
import { FORM_PAGE_HEADERS, wantsPage } from '../browser/page-headers.ts';
import { renderApproval } from './approval-page.ts';
import { COMMITMENT, DECISION, type MyApprovals, readAnswer } from './approval-routes.ts';
import { approvalAddress, approvalSignIn } from './cookies.ts';
import { answerNotice, languageOf } from './notice.ts';
import { type Asked, type Message, type Outcome, type PageRequests, personView } from './page-requests.ts';

const UNKNOWN_APPROVAL: Message = { status: 404, kind: 'unknown_approval' };
const ALTERED: Message = { status: 409, kind: 'altered' };

interface Params {
  readonly approvalId: string;
}

export function serveApprovalPage(router: Router, approvals: MyApprovals, { show, act, leadTo }: PageRequests): void {
  const signIn = ({ params }: Request) => {
    const approvalId = parseApprovalId(String(params.approvalId));
    return approvalId === undefined ? '/me/sign-in' : approvalSignIn(approvalId, 'any');
  };
  const open = show((asked, request, response) => showApproval(asked, approvals, request, response), signIn);
  router.get('/approvals/:approvalId', (request, response, next) =>
    wantsPage(request) ? open(request, response, next) : next(),
  );
  router
    .route('/approvals/:approvalId/answer')
    .get(leadTo<Params>(({ approvalId }) => `/me/approvals/${encodeURIComponent(approvalId)}`))
    .post(act<Params>((asked, { approvalId }, field) => answer(asked, approvals, approvalId, field)));
}

async function showApproval(asked: Asked, approvals: MyApprovals, request: Request, response: Response): Promise<void> {
  const { person, base } = asked;
  const approvalId = parseApprovalId(String(request.params.approvalId));
  const approval = approvalId && (await approvals.find(person, approvalId));
  if (approval === undefined) return answerNotice(response, { ...UNKNOWN_APPROVAL, base });
  if (approval === 'altered') return answerNotice(response, { ...ALTERED, base });
  const view = {
    ...personView(asked, request, response),
    approval,
    mayApprove: await approvals.mayApprove(person),
  };
  response.set(FORM_PAGE_HEADERS).send(renderApproval(view, languageOf(request)));
}

async function answer({ person }: Asked, approvals: MyApprovals, text: string, field: FormField): Promise<Outcome> {
  const approvalId = parseApprovalId(text);
  const given = readAnswer({ [DECISION]: field(DECISION) ?? '', [COMMITMENT]: field(COMMITMENT) ?? '' });
  if ('errors' in given) return { kind: 'refused', notice: { status: 400, kind: 'malformed' } };
  if (approvalId === undefined) return { kind: 'refused', notice: UNKNOWN_APPROVAL };
  const verdict = await approvals.answer(person, { approvalId, ...given });
  switch (verdict) {
    case 'granted':
      return { kind: 'done', notice: { kind: 'approved', amount: 0 } };
    case 'refused':
      return { kind: 'done', notice: { kind: 'declined', amount: 0 } };
    case 'sign_in_too_old':
      return { kind: 'done', to: approvalAddress(approvalId) };
    case 'not_found':
      return { kind: 'refused', notice: UNKNOWN_APPROVAL };
    case 'altered':
    case 'other_words':
    case 'not_waiting':
      return { kind: 'refused', notice: { status: 409, kind: verdict } };
  }
}
