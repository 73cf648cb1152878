/** Agents that hand work to each other: the forms of offers and take-ups (docs/sub-agents.md). */

import { type Answer, type Form, JIRA, type Mandate, type RegisteredAgent } from './mandate.ts';

export const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';

/** An offer of this agent to another one. Given parameters replace the defaults; `undefined` removes one. */
export function offerForm(by: RegisteredAgent, to: string, grant: string, changes: Form = {}): Form {
  return {
    grant_type: EXCHANGE,
    subject_token: grant,
    subject_token_type: `${TOKEN_TYPE}:refresh_token`,
    actor_token: by.assertion(),
    actor_token_type: `${TOKEN_TYPE}:jwt`,
    requested_token_type: `${TOKEN_TYPE}:jwt`,
    audience: `agent:${to}`,
    resource: JIRA,
    scope: 'jira:read jira:comment',
    ...changes,
  };
}

export function takeUpForm(by: RegisteredAgent, offer: string, changes: Form = {}): Form {
  return {
    grant_type: EXCHANGE,
    subject_token: offer,
    subject_token_type: `${TOKEN_TYPE}:jwt`,
    actor_token: by.assertion(),
    actor_token_type: `${TOKEN_TYPE}:jwt`,
    resource: JIRA,
    scope: 'jira:read jira:comment',
    ...changes,
  };
}

/** A task that an agent has, by its answer. */
export interface HeldTask {
  readonly taskId: string;
  readonly grant: string;
  readonly token: string;
  readonly scope: string;
}

export function heldTask({ status, body, text }: Answer): HeldTask {
  if (status !== 200) throw new Error(`no task: ${text}`);
  return {
    taskId: String(body.task_id),
    grant: String(body.refresh_token),
    token: String(body.access_token),
    scope: String(body.scope),
  };
}

/** Hand-overs at one service. */
export function delegationAt(mandate: Pick<Mandate, 'post'>) {
  const ask = (by: RegisteredAgent, to: string, grant: string, changes: Form = {}): Promise<Answer> =>
    mandate.post('/oauth2/token', offerForm(by, to, grant, changes));
  const take = (by: RegisteredAgent, offer: string, changes: Form = {}): Promise<Answer> =>
    mandate.post('/oauth2/token', takeUpForm(by, offer, changes));
  /** @throws if it is refused */
  const offer = async (
    by: RegisteredAgent,
    to: RegisteredAgent,
    grant: string,
    changes: Form = {},
  ): Promise<string> => {
    const { status, body, text } = await ask(by, to.id, grant, changes);
    if (status !== 200) throw new Error(`no offer: ${text}`);
    return String(body.access_token);
  };
  return {
    ask,
    take,
    offer,
    /** The task of the other agent. @throws if an offer or its take-up is refused */
    handOver: async (by: RegisteredAgent, to: RegisteredAgent, { grant }: HeldTask, changes: Form = {}) =>
      heldTask(await take(to, await offer(by, to, grant, changes), changes)),
  };
}
