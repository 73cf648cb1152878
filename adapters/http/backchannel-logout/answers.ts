/** What the identity provider is answered (specification "Back-channel logout answers"): never which check a token failed. */

import type { Response } from 'express';
import type { LogoutOutcome } from '../../../application/signals/accept-logout.ts';

export function answerLogout(response: Response, outcome: LogoutOutcome): void {
  if (outcome.kind !== 'refused') {
    // A repeated one is answered like the first: a provider that was not sure sends it again.
    response.locals.reason = outcome.kind;
    response.status(200).end();
    return;
  }
  response.locals.reason = outcome.reason;
  if (outcome.reason === 'logout_keys_unavailable') {
    response.status(503).json({
      error: 'temporarily_unavailable',
      error_description: "The identity provider's keys could not be fetched. Retry the request.",
    });
    return;
  }
  refuse(response, 'The logout token is not acceptable.');
}

export function answerMissingToken(response: Response): void {
  response.locals.reason = 'logout_malformed';
  refuse(response, 'The parameter logout_token is missing.');
}

export function answerMethod(response: Response): void {
  response.locals.reason = 'logout_malformed';
  response.set('Allow', 'POST').status(405).json({
    error: 'invalid_request',
    error_description: 'This endpoint answers POST only.',
  });
}

function refuse(response: Response, sentence: string): void {
  response.status(400).json({ error: 'invalid_request', error_description: sentence });
}
