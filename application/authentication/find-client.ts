/**
 * Finds the client of a request at `/oauth2/authorize`, or of a code. A `client_id` is the id of an agent, or the URL of the
 * metadata document that its registration names. An agent with a document is described by it under both names.
 */

import type { Agent, AgentKeySource } from '../../domain/agents/agent.ts';
import { parseAgentId } from '../../domain/identifiers.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { Agents } from '../ports/agents.ts';
import type { ClientDocuments } from '../ports/client-documents.ts';
import type { HeldPermit } from '../ports/keys.ts';

export interface AuthorizationClient {
  readonly agent: Agent;
  /** Which `client_id` named it. */
  readonly by: 'agent_id' | 'document';
  /** Those of its document, if it has one. Empty: no answer may go anywhere. */
  readonly redirectUris: readonly string[];
  /** Whether it may redeem a code by PKCE alone, if `Service:Authorize:PublicClients` allows that. */
  readonly isPublic: boolean;
  /** The keys with which it authenticates when it redeems a code: those of its document, if it has one. */
  readonly keys: AgentKeySource;
  /** As records say how the client was known: by its document, by no key at all, or by its key. */
  readonly label: 'key' | 'public' | 'document';
}

export type FoundClient =
  | { readonly kind: 'found'; readonly client: AuthorizationClient }
  /** No registration has this id or URL. A disabled agent is found. */
  | { readonly kind: 'unknown' }
  /** Its document could not be fetched: the same request may succeed later. */
  | { readonly kind: 'unavailable'; readonly agent: Agent }
  /** Its document describes no client that this service accepts. `problem` is a fixed sentence for the log, which has it already. */
  | { readonly kind: 'unusable'; readonly agent: Agent; readonly problem: string };

export interface ClientSource {
  readonly agents: Pick<Agents, 'find' | 'findByDocument'>;
  readonly documents: ClientDocuments;
}

/** @throws StorageUnavailable */
export async function findClient(
  service: ClientSource,
  clientId: string,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<FoundClient> {
  const agentId = parseAgentId(clientId);
  const agent =
    agentId === undefined ? await service.agents.findByDocument(clientId) : await service.agents.find(agentId);
  return agent === undefined
    ? { kind: 'unknown' }
    : describeClient(service, agent, agentId === undefined ? 'document' : 'agent_id', trace, permit);
}

/** The same for an agent that is already known, as that of a code is. */
export async function describeClient(
  { documents }: Pick<ClientSource, 'documents'>,
  agent: Agent,
  by: AuthorizationClient['by'],
  trace?: Trace,
  permit?: HeldPermit,
): Promise<FoundClient> {
  const { clientIdDocument, redirectUris = [], keys, publicClient } = agent;
  if (clientIdDocument === undefined) {
    const label = publicClient && keys.kind === 'none' ? 'public' : 'key';
    return { kind: 'found', client: { agent, by, redirectUris, isPublic: publicClient, keys, label } };
  }
  const found = await documents.read(clientIdDocument, trace, permit);
  if (found.kind !== 'read') return { ...found, agent };
  const isPublic = found.document.keys.kind === 'none';
  const label = by === 'document' ? 'document' : isPublic ? 'public' : 'key';
  return { kind: 'found', client: { ...found.document, agent, by, isPublic, label } };
}
