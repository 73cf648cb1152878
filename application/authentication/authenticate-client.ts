/**
 * Authenticates a client at the token endpoint: an agent by its client assertion, or a public client by its `client_id` alone
 * (RFC 6749 §3.2.1). A `client_id` alone proves nothing. So the caller refuses without a name in the record, until the client
 * has presented a code or a grant of the agent. Only then may the client learn that the agent is disabled.
 */

import { describeDenial } from '../../domain/denial.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { allowed, type DenialSubject, type Denied, denied, type Outcome } from '../outcome.ts';
import type { HeldPermit } from '../ports/keys.ts';
import {
  type AgentAuthentication,
  type AuthenticatedAgent,
  authenticateAgent,
  type Credentials,
  type KeyChoice,
} from './authenticate-agent.ts';
import { findClient } from './find-client.ts';

/** A client that authenticated by its `client_id` alone has no `assertion` and no `provedBy`. */
export type AuthenticatedClient = Pick<AuthenticatedAgent, 'agent' | 'instance'> & {
  readonly [Name in 'assertion' | 'provedBy']: AuthenticatedAgent[Name] | undefined;
};

/**
 * A disabled agent is authenticated too.
 *
 * @param options.keys which keys of an agent count that has a client metadata document
 */
export async function authenticateClient(
  service: Omit<AgentAuthentication, 'agents'>,
  agents: AgentAuthentication['agents'],
  credentials: Credentials,
  options: {
    readonly about?: DenialSubject;
    readonly keys: KeyChoice;
    readonly trace?: Trace | undefined;
    readonly permit?: HeldPermit;
  },
): Promise<Outcome<AuthenticatedClient>> {
  const { agentKeys, clock, sharedTime, audiences, clients } = service;
  const { assertion, clientId } = credentials;
  if (assertion !== undefined || clientId === undefined || clients === undefined) {
    const authentication = { agents, agentKeys, clock, sharedTime, audiences, clients };
    return authenticateAgent(authentication, credentials, { ...options, disabledToo: true });
  }
  const { documents, findByDocument, publicClients } = clients;
  const source = { agents: { find: agents.find, findByDocument }, documents, publicClients };
  const found = await findClient(source, clientId, options.trace, options.permit);
  switch (found.kind) {
    case 'unknown':
      return notPublic('actor_unknown_agent');
    case 'unavailable':
      return denied('actor_keys_unavailable', { detail: DOCUMENT_AWAY });
    case 'unusable':
      return notPublic('client_not_public');
    case 'found':
      return found.client.isPublic
        ? allowed({ agent: found.client.agent, assertion: undefined, provedBy: undefined, instance: undefined })
        : notPublic('client_not_public');
  }
}

export const DOCUMENT_AWAY = "The client's metadata document could not be fetched. Retry the request.";

/** One sentence for both: it does not show whether the agent exists. */
function notPublic(reason: 'actor_unknown_agent' | 'client_not_public'): Denied {
  return denied(reason, { detail: describeDenial('client_not_public').sentence });
}
