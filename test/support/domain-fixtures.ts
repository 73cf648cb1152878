/** Domain values in which every field has a value, so that a test notices a lost field. */

import type { Agent } from '../../domain/agents/agent.ts';
import { type AgentId, makeTaskId, parseAgentId, type SponsorKey, type TaskId } from '../../domain/identifiers.ts';
import { type Instant, instantFromMicros, instantFromSeconds } from '../../domain/instant.ts';
import type { Delegator, Grant, Task } from '../../domain/tasks/task.ts';
import type { Trace } from '../../domain/trace-context.ts';

export const aTrace: Trace = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '9a1c3e5f70b2d4e6',
  isSampled: true,
};

export const NOON: Instant = instantFromMicros(1_789_653_821_882_457);

export function agentIdOf(text: string): AgentId {
  const id = parseAgentId(text);
  if (id === undefined) throw new Error(`not an agent_id: ${text}`);
  return id;
}

export function anAgent(changes: Partial<Agent> = {}): Agent {
  return {
    agentId: agentIdOf('jira-triage'),
    displayName: 'Jira triage',
    sponsorRequired: true,
    allowedScopes: ['jira:read', 'jira:comment'],
    allowedAudiences: ['https://jira.example', 'https://wiki.example'],
    maxTaskTtl: 1800,
    maxTokenTtl: 300,
    maxDelegationDepth: 3,
    highRiskAudiences: ['https://wiki.example'],
    keys: { kind: 'remote', uri: 'https://keys.example/jwks.json' },
    mayActNames: [{ sub: '7f3c', clientId: 'jira-client' }],
    redirectUris: ['https://triage.example/callback', 'http://127.0.0.1/callback', 'cursor://triage/callback'],
    publicClient: true,
    // No two stored agents may have one.
    clientIdDocument: `https://triage.example/${changes.agentId ?? 'jira-triage'}.json`,
    clientNames: ['Triage', 'Triage (*'],
    delegatesTo: [agentIdOf('jira-triage'), agentIdOf('wiki-reader')],
    enabled: true,
    revision: 4,
    createdAt: NOON,
    updatedAt: instantFromMicros(NOON + 1),
    keysSince: instantFromMicros(NOON + 2),
    ...changes,
  };
}

export function aDelegator(taskId: TaskId, changes: Partial<Delegator> = {}): Delegator {
  return { taskId, agentId: agentIdOf('jira-lead'), instance: 'lead-7', ...changes };
}

export function aTask(changes: Partial<Task> = {}): Task {
  return {
    taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTES'),
    agentId: agentIdOf('jira-triage'),
    sponsorKey: 'object-7' as SponsorKey,
    sponsor: 'ada',
    sessionId: 'session-3',
    delegatedBy: [],
    audience: 'https://jira.example',
    scope: ['jira:read', 'jira:comment'],
    origin: { held: ['jira:read', 'jira:comment', 'mail:send'], asked: ['jira:comment', 'jira:read', 'wiki:read'] },
    delegationDepth: 1,
    createdAt: NOON,
    expiresAt: instantFromSeconds(1_789_653_821 + 1800),
    status: { listId: 'q80B-f_nWEZ5HLXzGk6-zA', index: 413 },
    ...changes,
  };
}

export function aGrant(changes: Partial<Grant> = {}): Grant {
  return {
    task: aTask(),
    taskState: { kind: 'live' },
    revokedAt: undefined,
    scope: ['jira:read'],
    renewals: 3,
    ...changes,
  };
}
