/**
 * Finds the client of a request at `/oauth2/authorize`, or of a code. A `client_id` is the id of an agent, or the URL of the
 * metadata document that its registration names. An agent with a document is described by it under both names.
 */

import type { Agent, AgentKeySource } from '../../domain/agents/agent.ts';
import type { ClientDocument } from '../../domain/authorization/client-document.ts';
import { parseAgentId } from '../../domain/identifiers.ts';
import type { ClientLabel } from '../../domain/tasks/task-authorization.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { Agents } from '../ports/agents.ts';
import type { ClientDocuments } from '../ports/client-documents.ts';
import type { HeldPermit } from '../ports/keys.ts';

export interface AuthorizationClient {
  readonly agent: Agent;
  /** Those of its document, if it has one. Empty: no answer may go anywhere. */
  readonly redirectUris: readonly string[];
  /** Whether its `client_id` alone redeems a code. Then it cannot prove its name, also if it has a key. */
  readonly isPublic: boolean;
  /** The keys with which it authenticates when it redeems a code: those of its document, if it has one. */
  readonly keys: AgentKeySource;
  /** As the person's page, records and tasks have it. */
  readonly label: ClientLabel;
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
  /** `Service:Authorize:PublicClients`. Without it, every client needs a key. */
  readonly publicClients: boolean;
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
  return agent === undefined ? { kind: 'unknown' } : describeClient(service, agent, trace, permit);
}

/** The same for an agent that is already known, as that of a code is. */
export async function describeClient(
  { documents, publicClients }: Omit<ClientSource, 'agents'>,
  agent: Agent,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<FoundClient> {
  const { clientIdDocument, redirectUris = [], keys, publicClient } = agent;
  const found = (described: Pick<ClientDocument, 'redirectUris' | 'keys'>, needsNoKey: boolean): FoundClient => {
    const isPublic = needsNoKey && publicClients;
    const label = isPublic ? 'public' : clientIdDocument === undefined ? 'key' : 'document';
    return { kind: 'found', client: { ...described, agent, isPublic, label } };
  };
  if (clientIdDocument === undefined) return found({ redirectUris, keys }, publicClient);
  const read = await documents.read(clientIdDocument, trace, permit);
  return read.kind === 'read' ? found(read.document, read.document.keys.kind === 'none') : { ...read, agent };
}
