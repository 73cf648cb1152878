/**
 * The exports of `@mandate/agent`: an agent starts tasks for people, and each task renews its own token.
 *
 * options.ts checks the options, and agent-key.ts signs a new client assertion for each request. control-plane.ts
 * sends an exchange, a refresh or a revocation. issued-token.ts compares the answer with the request. task.ts keeps
 * the token, renews it before it expires, and ends with the task. approved-fetch.ts repeats a call that a person has to
 * approve. offer.ts reads the offer by which one agent hands work to another. A failure is one of errors.ts. `mcp` has the
 * same for an MCP client.
 */

import { type Checks, callable, checkArguments, optional, optionsOf, text } from '../arguments.ts';
import { assertionSigner } from './agent-key.ts';
import { keepParts } from './agent-parts.ts';
import type { OnApproval } from './approved-fetch.ts';
import { controlPlane, type ExchangeRequest, JWT, retryWithBackoff } from './control-plane.ts';
import { readOffer } from './offer.ts';
import {
  type AgentOptions,
  accessToken,
  agentScopes,
  audience,
  checkAgentOptions,
  duration,
  originList,
  purposeText,
} from './options.ts';
import { renewingTask, type Task } from './task.ts';

export type { AgentKey, AssertionAlgorithm, KeySigner } from './agent-key.ts';
export type { OnApproval } from './approved-fetch.ts';
export { ApprovalRequired, NotNow, Refused, type TaskEnd, TaskOver, type Unacceptable } from './errors.ts';
export type { Offer } from './offer.ts';
export type { AgentClock, AgentOptions } from './options.ts';
export type { HandOver, Task } from './task.ts';

export interface StartTask extends TaskOptions {
  /** The person's access token from the identity provider. It is sent to the control plane, and not kept. */
  readonly subjectToken: string;
  /** The audience of the task's token: an absolute URL, as in the registration. */
  readonly resource: string;
  /** At least one scope. */
  readonly scope: readonly string[];
}

export interface TakeUp extends TaskOptions {
  /** At least one scope. The default is all offered ones. */
  readonly scope?: readonly string[];
}

interface TaskOptions {
  /** Why the task is started, for its person: at most 300 characters. The control plane may require it, or ignore it. */
  readonly purpose?: string;
  /** The origins to which the task's `fetch` may send the token. The default is the origin of `resource`. */
  readonly origins?: readonly string[];
  /**
   * Tells the person that a call waits for an approval, for example by showing the address. With it, `fetch` repeats the
   * call until the person has answered; without it, `fetch` throws ApprovalRequired. It is called once for each address,
   * and awaited within the time limit. An error that it throws is the error of `fetch`.
   */
  readonly onApproval?: OnApproval;
  /** How long `fetch` waits for an approval, in milliseconds, before it throws ApprovalRequired. The default is 600000. */
  readonly approvalTimeoutMs?: number;
}

export interface Agent {
  /**
   * Starts a task for the person who owns the token. While the control plane is unavailable, the request is retried. If a
   * response is lost, its task stays unused until it expires.
   *
   * @throws TypeError that lists every wrong member; Refused, with the `error`, the `reason` and the sentence of the
   * control plane; NotNow, once `patienceMs` has passed
   */
  startTask(request: StartTask): Promise<Task>;
  /**
   * Starts a task with an offer that another agent made for this one (`handOver`). It is for the same person, has at most the
   * offered scopes, and ends at the latest with the other agent's task. An offer is taken up once: if the response is lost,
   * the other agent must make a new one.
   *
   * @param offer the `text` of the offer. It is sent to the control plane, which verifies it, and not kept
   * @throws as `startTask`; Refused with the `reason` `offer_unreadable`, without a request, if the text is no offer
   */
  takeUp(offer: string, options?: TakeUp): Promise<Task>;
}

/** The time that the control plane gives a person by default. */
const DEFAULT_APPROVAL_TIMEOUT_MS = 600_000;

const OF_TASK: Checks<TaskOptions> = {
  purpose: optional(purposeText),
  origins: optional(originList),
  onApproval: optional(callable),
  approvalTimeoutMs: optional(duration),
};
const START: Checks<StartTask> = { subjectToken: accessToken, resource: audience, scope: agentScopes, ...OF_TASK };
const TAKE_UP: Checks<TakeUp> = { scope: optional(agentScopes), ...OF_TASK };

/**
 * @throws TypeError that lists every wrong option. The message holds no part of the key
 *
 * @example
 * ```ts
 * import { createAgent } from '@mandate/agent';
 *
 * const agent = createAgent({ issuer, agentId, key: { pem } });
 * const task = await agent.startTask({ subjectToken, resource, scope: ['jira:read'] });
 * const answer = await task.fetch(`${resource}/issues/OPS-7`);
 * console.log(answer.status, await answer.text());
 * await task.end();
 * ```
 */
export function createAgent(given: AgentOptions): Agent {
  const options = checkAgentOptions(given);
  const plane = controlPlane(options, assertionSigner(given.key));
  const begin = async (asked: ExchangeRequest, given: TaskOptions): Promise<Task> => {
    const { origins = [asked.resource], onApproval, approvalTimeoutMs = DEFAULT_APPROVAL_TIMEOUT_MS, purpose } = given;
    const waiting = { onApproval, timeoutMs: approvalTimeoutMs };
    const sentTo = origins.map((address) => new URL(address).origin);
    const issued = await retryWithBackoff(options, () => plane.exchange({ ...asked, purpose }));
    return renewingTask(options, plane, { resource: asked.resource, origins: sentTo, waiting }, issued);
  };
  const agent: Agent = {
    // The arguments are checked before the exchange: a TypeError after it would leave an unused task.
    async startTask(request) {
      checkArguments('agent.startTask', request, optionsOf(START));
      const { subjectToken, resource, scope } = request;
      return begin({ subjectToken, resource, scope }, request);
    },
    async takeUp(offer, given = {}) {
      checkArguments('agent.takeUp', { offer }, optionsOf({ offer: text }));
      checkArguments('agent.takeUp', given, optionsOf(TAKE_UP));
      const { resource, scope } = readOffer(offer);
      return begin({ subjectToken: offer, subjectTokenType: JWT, resource, scope: given.scope ?? scope }, given);
    },
  };
  return keepParts(agent, { options, plane });
}
