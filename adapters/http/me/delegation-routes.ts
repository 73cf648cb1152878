/** Routes of `/me/agents/{agent_id}/no-delegation`: whether an agent may hand work to other agents for the person. */

import type { Request, Response, Router } from 'express';
import { parseAgentId } from '../../../domain/identifiers.ts';
import { RESUME_MAX_AGE_SECONDS } from '../../../domain/sessions/sign-in-age.ts';
import type { MePerson } from '../../../domain/sponsors/me-person.ts';
import { discardRest } from '../message/body.ts';
import { answerProblem, methodNotAllowed } from '../message/problem-details.ts';
import type { MyDelegation } from './surface.ts';

type Verdict = Awaited<ReturnType<MyDelegation['refuse'] | MyDelegation['allow']>>;

/** @param personOf the person whose credential was checked before */
export function serveDelegation(router: Router, delegation: MyDelegation, personOf: (response: Response) => MePerson) {
  const choose =
    (choice: 'refuse' | 'allow') =>
    async (request: Request<{ agentId: string }>, response: Response): Promise<void> => {
      discardRest(request);
      const agentId = parseAgentId(request.params.agentId);
      const verdict = agentId && (await delegation[choice](personOf(response), agentId));
      answerVerdict(response, verdict ?? 'unknown_agent');
    };
  router
    .route('/agents/:agentId/no-delegation')
    .put(choose('refuse'))
    .delete(choose('allow'))
    .all(methodNotAllowed('PUT, DELETE'));
}

function answerVerdict(response: Response, verdict: Verdict): void {
  switch (verdict) {
    case 'done':
      response.status(204).end();
      break;
    case 'unknown_agent':
      answerProblem(response, { status: 404, detail: 'There is no such agent.', reason: verdict });
      break;
    case 'sign_in_too_old': {
      // RFC 9470 §3
      const error = 'insufficient_user_authentication';
      response.set('WWW-Authenticate', `Bearer error="${error}", max_age=${RESUME_MAX_AGE_SECONDS}`);
      const detail = `Sign in again: an agent may hand work over again only within ${RESUME_MAX_AGE_SECONDS} seconds of signing in.`;
      answerProblem(response, { status: 401, error, detail, reason: verdict });
    }
  }
}
