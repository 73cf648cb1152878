/** Queries of the registered agents. */

import type { Agents } from '../../../application/ports/agents.ts';
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

export const listAgents: Query<Parameters<Agents['list']>[0], readonly Agent[]> = {
  text: (_, { after, limit }) => `select ${COLUMNS} from agents
    ${after === undefined ? '' : 'where agent_id > :after'}
    order by agent_id ${limit === undefined ? '' : 'limit :limit'}`,
  values: ({ after, limit }) => ({ after, limit }),
  read: (rows: readonly AgentRow[]) => rows.map(toAgent),
};

export function agents(ask: Ask): Agents {
  return {
    find: (agentId) => ask(findAgent, agentId),
    list: (page) => ask(listAgents, page),
  };
}
