/** Reads and changes the agents of a running service over its admin API (specification "Admin API"). */

import { AdminApiFailure } from '../../application/ports/admin-api.ts';
import type { AgentRegistry } from '../../application/ports/agent-registry.ts';
import type { Registration } from '../../domain/agents/agent.ts';
import type { AgentId } from '../../domain/identifiers.ts';
import { member } from '../../domain/tokens/strict-json.ts';
import { type AdminAccess, adminApi, type ReadAnswer, readProblem, unexpected } from './admin-api.ts';
import { presentFields, readAgent } from './registration-json.ts';

export function adminApiAgents(access: AdminAccess): AgentRegistry {
  const ask = adminApi(access);
  return {
    async find(agentId) {
      const answer = await ask('GET', `/admin/agents/${agentId}`);
      if (answer.status === 404) return undefined;
      if (answer.status === 200) return agentIn(answer, agentId);
      throw unexpected(answer);
    },
    async register(fields) {
      const answer = await ask('POST', '/admin/agents', { fields: presentFields(fields) });
      if (answer.status === 201) return { kind: 'registered' };
      // With errors, the id is free, and another agent has a name of this one.
      if (answer.status === 409 && member(answer.body, 'errors') === undefined) return { kind: 'already_exists' };
      return refusal(answer);
    },
    async change(agentId, fields) {
      const answer = await ask('PATCH', `/admin/agents/${agentId}`, { fields: presentFields(fields) });
      if (answer.status === 200) return { kind: 'changed' };
      if (answer.status === 404) return { kind: 'not_found' };
      return refusal(answer);
    },
  };
}

function agentIn(answer: ReadAnswer, agentId: AgentId): Registration {
  const agent = readAgent(answer.body);
  if (agent?.agentId !== agentId)
    throw new AdminApiFailure('The response is not from the admin API: it did not contain the agent.');
  return agent;
}

function refusal(answer: ReadAnswer): { readonly kind: 'refused'; readonly errors: ReturnType<typeof readProblem> } {
  const errors = [400, 409].includes(answer.status) ? readProblem(answer.body) : [];
  if (errors.length === 0) throw unexpected(answer);
  return { kind: 'refused', errors };
}
