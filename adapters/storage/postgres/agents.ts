/** Agents on Postgres. What changes one holds its lock exclusively, so no decision on the old revision is under way. */

import type { Agents } from '../../../application/ports/agents.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import type { LedgerEntry } from '../../../domain/ledger/record.ts';
import {
  deleteAgent,
  findAgentId,
  findOneTaskOf,
  insertAgent,
  listAgents,
  replaceAgent,
} from '../rows/agent-queries.ts';
import { type AgentRow, agentColumnNames, toAgent } from '../rows/agent-row.ts';
import { bindInstant } from './column-types.ts';
import type { Connections, Run } from './connections.ts';
import { append } from './ledger.ts';
import { LOCK } from './locks.ts';

const find = { name: 'find_agent', text: `select ${agentColumnNames.join(', ')} from agents where agent_id = $1` };

export function postgresAgents({ knex, run, transact }: Connections): Agents {
  return {
    async find(agentId) {
      const { rows } = await run<AgentRow>(find, [agentId]);
      return rows[0] && toAgent(rows[0]);
    },

    async list(page) {
      const { rows } = await run<AgentRow>(listAgents(knex, page));
      return rows.map(toAgent);
    },

    register: (agent, entry, refusal) =>
      transact(async (run) => {
        const { count } = await run(insertAgent(knex, agent, bindInstant));
        return count === 1 ? recorded(run, entry, 'registered') : recorded(run, refusal, 'already_exists');
      }),

    replace: (agent, entry) =>
      transact(async (run) => {
        await lockAgent(run, agent.agentId);
        const { count } = await run(replaceAgent(knex, agent, bindInstant));
        if (count === 1) return recorded(run, entry, 'replaced');
        const stored = await run(findAgentId(knex, agent.agentId));
        return stored.count === 1 ? 'changed' : 'not_found';
      }),

    remove: (agentId, entry, refusal) =>
      transact(async (run) => {
        await lockAgent(run, agentId);
        const tasks = await run(findOneTaskOf(knex, agentId));
        if (tasks.count > 0) return recorded(run, refusal, 'has_tasks');
        const { count } = await run(deleteAgent(knex, agentId));
        return count === 1 ? recorded(run, entry, 'removed') : 'not_found';
      }),
  };
}

const lock = { name: 'lock_agent', text: `select pg_advisory_xact_lock(${LOCK.agent}, hashtext($1))` };

async function lockAgent(run: Run, agentId: AgentId): Promise<void> {
  await run(lock, [agentId]);
}

async function recorded<Answer>(run: Run, entry: LedgerEntry, answer: Answer): Promise<Answer> {
  await append(run, entry);
  return answer;
}
