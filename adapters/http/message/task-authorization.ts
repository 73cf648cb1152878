/** How the APIs of people and of operators show that a person started a task at `/oauth2/authorize`. */

import type { Task } from '../../../domain/tasks/task.ts';
import { provesName } from '../../../domain/tasks/task-authorization.ts';

export interface PresentsAuthorizations {
  /** Whether people may start tasks (`Service:Authorize:ClientId`). If not, no task shows that a person started it. */
  readonly presentsAuthorizations: boolean;
}

/** `null` for a task of an exchange. */
export function presentAuthorization(
  { presentsAuthorizations }: PresentsAuthorizations,
  { authorization }: Pick<Task, 'authorization'>,
): Record<string, unknown> {
  if (!presentsAuthorizations) return {};
  return {
    authorization:
      authorization === undefined
        ? null
        : {
            request_id: authorization.requestId,
            client: authorization.client,
            redirect_uri: authorization.redirectUri,
            proves_name: provesName(authorization),
          },
  };
}
