/** An agent as JSON (decisions "Agents"): the registration in the order of the specification's table, then the rest. */

import type { Response } from 'express';
import type { Agent } from '../../../domain/agents/agent.ts';
import { formatDuration } from '../../../domain/duration.ts';
import { toShortText } from '../../../domain/instant.ts';
import { answerProblem } from '../message/problem-details.ts';

export function presentAgent(agent: Agent): Record<string, unknown> {
  return {
    agent_id: agent.agentId,
    display_name: agent.displayName,
    sponsor_required: agent.sponsorRequired,
    allowed_scopes: agent.allowedScopes,
    allowed_audiences: agent.allowedAudiences,
    max_task_ttl: formatDuration(agent.maxTaskTtl),
    max_token_ttl: formatDuration(agent.maxTokenTtl),
    max_delegation_depth: agent.maxDelegationDepth,
    high_risk_audiences: agent.highRiskAudiences,
    jwks_uri: agent.keys.kind === 'remote' ? agent.keys.uri : null,
    jwks: agent.keys.kind === 'inline' ? agent.keys.jwks : null,
    enabled: agent.enabled,
    created_at: toShortText(agent.createdAt),
    updated_at: toShortText(agent.updatedAt),
  };
}

export function answerUnknownAgent(response: Response): void {
  answerProblem(response, { status: 404, detail: 'There is no such agent.', reason: 'unknown_agent' });
}
