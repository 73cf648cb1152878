/** Queries of operators on `agents`, built with Knex; the same on both engines. */

import type { Knex } from 'knex';
import type { Agent } from '../../../domain/agents/agent.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import { agentColumnNames, agentColumns } from './agent-row.ts';
import type { BindInstant } from './column.ts';

export function listAgents(knex: Knex, page: { after?: AgentId | undefined; limit?: number | undefined }) {
  const query = knex
    .select(...agentColumnNames)
    .from('agents')
    .orderBy('agent_id');
  if (page.after !== undefined) query.where('agent_id', '>', page.after);
  if (page.limit !== undefined) query.limit(page.limit);
  return query;
}

/** Changes no row where the id is taken. */
export function insertAgent(knex: Knex, agent: Agent, instant: BindInstant) {
  return knex('agents').insert(agentColumns(agent, instant)).onConflict('agent_id').ignore();
}

/** Changes no row unless the stored revision is the one before. */
export function replaceAgent(knex: Knex, agent: Agent, instant: BindInstant) {
  return knex('agents')
    .where({ agent_id: agent.agentId, revision: agent.revision - 1 })
    .update(agentColumns(agent, instant));
}

export function deleteAgent(knex: Knex, agentId: AgentId) {
  return knex('agents').where({ agent_id: agentId }).delete();
}
