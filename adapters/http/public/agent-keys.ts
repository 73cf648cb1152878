/**
 * `/agents/{agent_id}/jwks.json` (specification "Agent registration", rule 3): the public keys that a registration
 * holds itself, a disabled agent's too. Mount it at `/agents`.
 */

import express, { type Response, type Router } from 'express';
import type { Log } from '../../../application/ports/telemetry.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { type AgentId, parseAgentId } from '../../../domain/identifiers.ts';
import { answerProblem } from '../message/problem-details.ts';
import { answerFaults, methodNotAllowed, unknownPath } from '../message/problem-faults.ts';
import { answerPublicDocument } from './discovery.ts';

export interface AgentKeysSurface {
  find(agentId: AgentId): Promise<Agent | undefined>;
  readonly log: Log;
}

export function agentKeysRouter(surface: AgentKeysSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router
    .route('/:agentId/jwks.json')
    .get((request, response) => publish(surface, request.params.agentId, response))
    .all(methodNotAllowed('GET, HEAD'));
  router.use(unknownPath);
  router.use(answerFaults(surface.log));
  return router;
}

async function publish(surface: AgentKeysSurface, id: string, response: Response): Promise<void> {
  const agentId = parseAgentId(id);
  const agent = agentId === undefined ? undefined : await surface.find(agentId);
  if (agent?.keys.kind !== 'inline') {
    // The same for an agent that is not there and one whose keys are elsewhere.
    return answerProblem(response, { status: 404, detail: 'No keys are published here.', reason: 'no_inline_keys' });
  }
  answerPublicDocument(response, agent.keys.jwks);
}
