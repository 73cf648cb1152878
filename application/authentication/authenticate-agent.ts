/**
 * Authenticates an agent by its client assertion (RFC 7523 §2.2; specification "Client assertion rules").
 *
 * The order of the checks is a security property. Until the signature has verified, no record names the agent, and a
 * refusal does not show whether the agent exists. Only after that may the caller learn that the agent is disabled. One
 * exception: if an agent's key set can't be fetched, the response asks the caller to retry (supplement "Reasons").
 * Otherwise a fault at the agent's host would look like a wrong key.
 *
 * This folder finds out who asks, and for whom. The other files validate tokens of people (validate-subject-token.ts,
 * validate-me-token.ts, validate-operator.ts), and check whether an agent may act for the person (check-sponsor.ts).
 */

import type { Agent } from '../../domain/agents/agent.ts';
import { isAssertionType, judgeAssertion } from '../../domain/agents/assertion.ts';
import { parseAgentId } from '../../domain/identifiers.ts';
import { readCompactJws } from '../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { SpentAssertion } from '../decisions/assertion.ts';
import { allowed, type DenialSubject, denied, type Outcome } from '../outcome.ts';
import type { Agents } from '../ports/agents.ts';
import type { AgentKeys, HeldPermit } from '../ports/keys.ts';
import type { Clock, SharedTime } from '../ports/runtime.ts';

/** The algorithms an assertion may be signed with (supplement "Client assertions"). */
export const ASSERTION_ALGORITHMS = ['ES256', 'PS256', 'RS256'] as const;

export interface AgentAuthentication {
  readonly agents: Pick<Agents, 'find'>;
  readonly agentKeys: AgentKeys;
  readonly clock: Clock;
  /** An assertion is past when the later of two clocks says so (supplement "Clocks"). */
  readonly sharedTime: SharedTime;
  /** The issuer, its token endpoint and, at revocation alone, that endpoint: the assertion's `aud` must be one of them. */
  readonly audiences: readonly string[];
}

interface Credentials {
  /** The compact JWS; `undefined` if none was sent. */
  readonly assertion: string | undefined;
  /** The `client_id` parameter, if one was sent. */
  readonly clientId: string | undefined;
}

export interface AuthenticatedAgent {
  readonly agent: Agent;
  /** The assertion is not spent yet: the decision on the request spends it. */
  readonly assertion: SpentAssertion;
  readonly instance: string | undefined;
}

/**
 * @param options.about further fields for the record of a refusal that names the agent
 * @param options.disabledToo accepts disabled agents: they may still revoke their tokens (supplement "Token endpoint")
 */
export async function authenticateAgent(
  { agents, agentKeys, clock, sharedTime, audiences }: AgentAuthentication,
  { assertion, clientId }: Credentials,
  options: {
    readonly about?: DenialSubject;
    readonly disabledToo?: boolean;
    readonly trace?: Trace | undefined;
    readonly permit?: HeldPermit;
  } = {},
): Promise<Outcome<AuthenticatedAgent>> {
  // 1. The assertion is well-formed, and made by one agent about itself.
  const jws = assertion === undefined ? undefined : readCompactJws(assertion);
  if (jws === undefined || !isAssertionType(jws)) return denied('actor_malformed');
  if (!isOneOf(ASSERTION_ALGORITHMS, jws.algorithm)) return denied('actor_unsupported_algorithm');
  const { issuer, subject } = jws.claims;
  if (issuer === undefined || issuer !== subject) return denied('actor_issuer_subject_mismatch');
  if (clientId !== undefined && clientId !== issuer) return denied('actor_client_id_mismatch');

  // 2. One of that agent's keys signed it.
  const agentId = parseAgentId(issuer);
  const agent = agentId === undefined ? undefined : await agents.find(agentId);
  if (agent === undefined) return denied('actor_unknown_agent');
  const signature = await agentKeys.verify(agent, jws, options.trace, options.permit);
  if (signature.kind !== 'verified') return denied(`actor_${signature.kind}`);

  // 3. The assertion is meant for this service, and valid now. From here on, records of refusals name the agent.
  const about = { ...options.about, agentId: agent.agentId };
  const [latest, undoubted] = [await sharedTime.latest(), await sharedTime.undoubted()];
  const verdict = judgeAssertion(jws.claims, { audiences, now: clock.now(), latest, undoubted });
  if (verdict.kind === 'refused') return denied(verdict.reason, { about });
  const { jti, forgetAt, latestForgetAt } = verdict;
  const spent = { agentId: agent.agentId, jti, forgetAt, latestForgetAt };

  // 4. The agent is enabled. This check comes last: a stolen assertion, or one made for another audience, must not reveal
  // that the agent is disabled.
  if (!agent.enabled && options.disabledToo !== true) return denied('agent_disabled', { about, assertion: spent });
  return allowed({ agent, assertion: spent, instance: verdict.instance });
}

function isOneOf(list: readonly string[], value: string): boolean {
  return list.includes(value);
}
