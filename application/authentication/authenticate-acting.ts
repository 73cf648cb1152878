/** Authenticates the agent of a token exchange (RFC 8693 §2.1): by its `actor_token`. */

import type { DenialReason } from '../../domain/denial.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { allowed, type DenialSubject, type Denied, denied, type Outcome } from '../outcome.ts';
import type { HeldPermit } from '../ports/keys.ts';
import {
  type AgentAuthentication,
  type AuthenticatedAgent,
  authenticateAgent,
  type KeyChoice,
} from './authenticate-agent.ts';

export interface ActingCredentials {
  /** The assertion of the acting agent: `actor_token`, or with `Service:Exchange:ClientIsActor` a sole `client_assertion`. */
  readonly actorToken: string | undefined;
  /** Some OAuth libraries send a `client_assertion` in addition to the `actor_token`. */
  readonly clientAssertion: string | undefined;
  readonly clientId: string | undefined;
}

const ANOTHER_AGENT = 'The client_assertion and the actor_token must be of one agent.';

/**
 * Authenticates by the `actor_token`, and by the `client_assertion` if one was sent. Both must be the same agent's, and
 * are used up together. If the `client_assertion` is refused, the `actor_token` is used up: it has already verified.
 */
export async function authenticateActing(
  { agentKeys, clock, sharedTime, audiences, clients }: Omit<AgentAuthentication, 'agents'>,
  agents: AgentAuthentication['agents'],
  { actorToken, clientAssertion, clientId }: ActingCredentials,
  options: {
    readonly about: DenialSubject;
    /** Without it, those of the registration (`KeyChoice`). */
    readonly keys?: KeyChoice;
    readonly trace: Trace | undefined;
    readonly permit: HeldPermit;
  },
): Promise<Outcome<AuthenticatedAgent>> {
  const authentication = { agents, agentKeys, clock, sharedTime, audiences, clients };
  const { about, keys = 'registration', trace, permit } = options;
  const acting = await authenticateAgent(authentication, { assertion: actorToken, clientId }, options);
  if (acting.kind === 'denied' || clientAssertion === undefined) return acting;
  const { agent, assertion } = acting.value;
  const refuse = (reason: DenialReason, detail?: string): Denied =>
    denied(reason, { detail, about: { ...about, agentId: agent.agentId }, assertion });

  // The client_id makes another agent's assertion fail before that agent is looked up.
  const credentials = { assertion: clientAssertion, clientId: agent.agentId };
  const client = await authenticateAgent(authentication, credentials, { keys, trace, permit });
  if (client.kind === 'denied') {
    const { reason } = client.denial;
    return refuse(reason, reason === 'actor_client_id_mismatch' ? ANOTHER_AGENT : undefined);
  }
  const { jti, forgetAt, latestForgetAt } = client.value.assertion;
  // One request must not use one assertion twice either.
  if (jti === assertion.jti) return refuse('actor_replayed');
  const used = { ...assertion, clientAssertion: { jti, forgetAt, latestForgetAt } };
  return allowed({ ...acting.value, assertion: used });
}
