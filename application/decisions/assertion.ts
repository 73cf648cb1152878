/** A client assertion is used up by one request (supplement "Client assertions"). */

import type { AgentId } from '../../domain/identifiers.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Effect } from './effect.ts';
import { type AssertionName, ask } from './fact.ts';
import { exclusive, type Lock } from './lock.ts';

export interface SpentAssertion {
  readonly agentId: AgentId;
  readonly jti: string;
  /** From this time the assertion is expired, and its `jti` can be forgotten. */
  readonly forgetAt: Instant;
  /** The latest `forgetAt` that its `iat` allows; without it, `forgetAt`. Read only after a restore (`fact.ts`). */
  readonly latestForgetAt?: Instant | undefined;
  /** The agent's `client_assertion` of the same exchange, with another `jti`. Both are used up together. */
  readonly clientAssertion?: Omit<SpentAssertion, 'agentId' | 'clientAssertion'> | undefined;
}

export function assertionLocks(assertion: SpentAssertion | undefined): readonly Lock[] {
  return each(assertion).map(({ agentId, jti }) => exclusive('assertion', `${agentId} ${jti}`));
}

/** One question for the assertion, and one for its `clientAssertion` if there is one. */
export function assertionQuestions(assertion: SpentAssertion | undefined) {
  return each(assertion).map(({ agentId, jti, forgetAt, latestForgetAt = forgetAt }) =>
    ask('assertion_spent', { agentId, jti, latestForgetAt }),
  );
}

/** Whether the `jti` is that of the agent's assertion, or of its `clientAssertion`. */
export function isUsedUpBy(assertion: SpentAssertion | undefined, { agentId, jti }: AssertionName): boolean {
  return each(assertion).some((one) => one.agentId === agentId && one.jti === jti);
}

/** @param spent the answers to `assertionQuestions` */
export function isReplayed(spent: readonly boolean[]): boolean {
  return spent.includes(true);
}

/** Uses up each assertion that is not used yet. @param spent the answers to `assertionQuestions` */
export function spend(assertion: SpentAssertion | undefined, spent: readonly boolean[]): readonly Effect[] {
  return each(assertion).flatMap(({ agentId, jti, forgetAt }, nth) =>
    spent[nth] === true ? [] : [{ effect: 'spend_assertion', agentId, jti, forgetAt }],
  );
}

function each(assertion: SpentAssertion | undefined): readonly Omit<SpentAssertion, 'clientAssertion'>[] {
  if (assertion === undefined) return [];
  const { clientAssertion, ...acting } = assertion;
  const { agentId } = acting;
  return clientAssertion === undefined ? [acting] : [acting, { agentId, ...clientAssertion }];
}
