/** Queries of the registered agents. */

import type { Agents, LongTokens } from '../../../application/ports/agents.ts';
import { httpAddress } from '../../../domain/address.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import { type AgentRow, toAgent } from '../rows/agent-row.ts';
import { columnsOf, tables } from '../tables.ts';
import type { Ask, Query } from './query.ts';

const COLUMNS = columnsOf(tables.agents).join(', ');

export const findAgent: Query<AgentId, Agent | undefined> = {
  name: 'find_agent',
  text: `select ${COLUMNS} from agents where agent_id = :agent_id`,
  values: (agentId) => ({ agent_id: agentId }),
  read: ([row]: readonly AgentRow[]) => row && toAgent(row),
};

export const findAgentByDocument: Query<string, Agent | undefined> = {
  name: 'find_agent_by_document',
  text: `select ${COLUMNS} from agents where client_id_document = :uri`,
  values: (uri) => ({ uri }),
  read: ([row]: readonly AgentRow[]) => row && toAgent(row),
};

export const listAgents: Query<Parameters<Agents['list']>[0], readonly Agent[]> = {
  text: (_, { after, limit }) => `select ${COLUMNS} from agents
    ${after === undefined ? '' : 'where agent_id > :after'}
    order by agent_id ${limit === undefined ? '' : 'limit :limit'}`,
  values: ({ after, limit }) => ({ after, limit }),
  read: (rows: readonly AgentRow[]) => rows.map(toAgent),
};

export const publicClients: Query<undefined, readonly Agent[]> = {
  name: 'public_clients',
  text: `select ${COLUMNS} from agents
    where public_client and enabled and redirect_uris is not null and client_id_document is null
    order by agent_id`,
  values: () => ({}),
  read: (rows: readonly AgentRow[]) => rows.map(toAgent),
};

export const longestTokens: Query<Parameters<Agents['longestTokens']>[0], readonly LongTokens[]> = {
  name: 'longest_tokens',
  plan: 'in_order',
  text: `select agent_id, max_token_ttl from agents where max_token_ttl > :above
    order by max_token_ttl desc, agent_id desc limit :limit`,
  values: ({ above, limit }) => ({ above, limit }),
  read: (rows: readonly Pick<AgentRow, 'agent_id' | 'max_token_ttl'>[]) =>
    rows.map((row) => ({ agentId: row.agent_id, maxTokenTtl: row.max_token_ttl })),
};

export function agents(ask: Ask): Agents {
  return {
    find: (agentId) => ask(findAgent, agentId),
    // Clients send this text. Postgres refuses some text that no registration can have, such as U+0000.
    findByDocument: async (uri) => (httpAddress(uri) === undefined ? undefined : ask(findAgentByDocument, uri)),
    list: (page) => ask(listAgents, page),
    publicClients: () => ask(publicClients, undefined),
    longestTokens: (question) => ask(longestTokens, question),
  };
}
