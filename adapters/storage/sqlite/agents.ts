/** Agents on SQLite. Decisions are made one after another, so none on an old revision is under way beside a change. */

import type { Agents } from '../../../application/ports/agents.ts';
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

const find = `select ${agentColumnNames.join(', ')} from agents where agent_id = ?`;

export function sqliteAgents({ knex, read, decide }: Connections): Agents {
  return {
    find: (agentId) =>
      read((run) => {
        const { rows } = run<AgentRow>(find, [agentId]);
        return rows[0] && toAgent(rows[0]);
      }),

    list: (page) => read((run) => run<AgentRow>(listAgents(knex, page)).rows.map(toAgent)),

    register: (agent, entry, refusal) =>
      decide((run) => {
        const { count } = run(insertAgent(knex, agent, bindInstant));
        return count === 1 ? recorded(run, entry, 'registered') : recorded(run, refusal, 'already_exists');
      }),

    replace: (agent, entry) =>
      decide((run) => {
        const { count } = run(replaceAgent(knex, agent, bindInstant));
        if (count === 1) return recorded(run, entry, 'replaced');
        const stored = run(findAgentId(knex, agent.agentId));
        return stored.count === 1 ? 'changed' : 'not_found';
      }),

    remove: (agentId, entry, refusal) =>
      decide((run) => {
        const tasks = run(findOneTaskOf(knex, agentId));
        if (tasks.count > 0) return recorded(run, refusal, 'has_tasks');
        const { count } = run(deleteAgent(knex, agentId));
        return count === 1 ? recorded(run, entry, 'removed') : 'not_found';
      }),
  };
}

function recorded<const Answer>(run: Run, entry: LedgerEntry, answer: Answer): Answer {
  append(run, entry);
  return answer;
}
