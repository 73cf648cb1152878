/** Tasks, agents and records that the tests of the console's screens show. */

import type { Suggestions } from '../../../adapters/http/console/parts/suggestions.ts';
import type { ListedTask, ShownTask } from '../../../application/ports/tasks.ts';
import { makeTaskId, parseAgentId, parseSponsorKey } from '../../../domain/identifiers.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { NOON } from '../domain-fixtures.ts';

export const nothingSuggested: Suggestions = { people: [], agents: [], tasks: [], audiences: [] };

let made = 0;

/** Live, and ten minutes old. */
export function aListedTask(
  changes: Partial<ShownTask> & { readonly person?: string; readonly agent?: string } = {},
): ListedTask & ShownTask {
  made += 1;
  const { person = 'ada', agent = 'jira-triage', ...rest } = changes;
  return {
    taskId: makeTaskId(`01M31S7W68${String(made).padStart(16, '0')}`),
    agentId: parseAgentId(agent) as ListedTask['agentId'],
    displayName: agent === 'jira-triage' ? 'Jira triage' : `The ${agent}`,
    sponsorKey: parseSponsorKey(`key-of-${person}`) as ListedTask['sponsorKey'],
    sponsor: person,
    sessionId: undefined,
    delegatedBy: [],
    audience: 'https://jira.example/mcp',
    scope: ['jira:read', 'jira:comment'],
    delegationDepth: 1,
    createdAt: NOON,
    expiresAt: plusSeconds(NOON, 1800),
    status: undefined,
    state: { kind: 'live' },
    renewals: 0,
    grantScope: ['jira:read', 'jira:comment'],
    renewedAt: undefined,
    purpose: undefined,
    differences: [],
    ...rest,
  };
}
