/** Converts between agents and rows of the `agents` table. */

import type { Agent, AgentKeySource } from '../../../domain/agents/agent.ts';
import { type MayActName, presentMayActName, readMayActNames } from '../../../domain/agents/may-act-name.ts';
import type { JwkSet } from '../../../domain/agents/public-key.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import { formatScope } from '../../../domain/scope.ts';
import type { RowOf, tables } from '../tables.ts';
import { type ReadRow, readScope, storable } from './column.ts';

export interface AgentRow extends ReadRow<typeof tables.agents> {
  readonly agent_id: AgentId;
  /** JSON text, because the members must keep their order. */
  readonly jwks: string | null;
}

export function toAgent(row: AgentRow): Agent {
  return {
    agentId: row.agent_id,
    displayName: row.display_name,
    sponsorRequired: true,
    allowedScopes: readScope(row.allowed_scopes),
    allowedAudiences: JSON.parse(row.allowed_audiences),
    highRiskAudiences: JSON.parse(row.high_risk_audiences),
    maxTaskTtl: row.max_task_ttl,
    maxTokenTtl: row.max_token_ttl,
    maxDelegationDepth: row.max_delegation_depth,
    keys: readKeys(row),
    mayActNames: row.may_act_names === null ? undefined : readMayActNames(JSON.parse(row.may_act_names)),
    redirectUris: row.redirect_uris === null ? undefined : JSON.parse(row.redirect_uris),
    publicClient: Boolean(row.public_client),
    clientIdDocument: row.client_id_document ?? undefined,
    clientNames: row.client_names === null ? undefined : JSON.parse(row.client_names),
    delegatesTo: row.delegates_to === null ? undefined : JSON.parse(row.delegates_to),
    enabled: Boolean(row.enabled),
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    keysSince: row.keys_since,
  };
}

function readKeys(row: AgentRow): AgentKeySource {
  if (row.jwks_uri !== null) return { kind: 'remote', uri: row.jwks_uri };
  if (row.jwks === null) return { kind: 'none' };
  const jwks: JwkSet = JSON.parse(row.jwks);
  return { kind: 'inline', jwks };
}

export function agentRow(agent: Agent): RowOf<typeof tables.agents> {
  return {
    agent_id: agent.agentId,
    display_name: storable('display_name', agent.displayName),
    allowed_scopes: formatScope(agent.allowedScopes),
    allowed_audiences: JSON.stringify(agent.allowedAudiences),
    high_risk_audiences: JSON.stringify(agent.highRiskAudiences),
    max_task_ttl: agent.maxTaskTtl,
    max_token_ttl: agent.maxTokenTtl,
    max_delegation_depth: agent.maxDelegationDepth,
    jwks_uri: agent.keys.kind === 'remote' ? storable('jwks_uri', agent.keys.uri) : null,
    jwks: agent.keys.kind === 'inline' ? JSON.stringify(agent.keys.jwks) : null,
    may_act_names: agent.mayActNames === undefined ? null : mayActNamesColumn(agent.mayActNames),
    redirect_uris: agent.redirectUris === undefined ? null : JSON.stringify(agent.redirectUris),
    public_client: agent.publicClient,
    client_id_document: agent.clientIdDocument ?? null,
    client_names: agent.clientNames === undefined ? null : JSON.stringify(agent.clientNames),
    delegates_to: agent.delegatesTo === undefined ? null : JSON.stringify(agent.delegatesTo),
    enabled: agent.enabled,
    revision: agent.revision,
    created_at: agent.createdAt,
    updated_at: agent.updatedAt,
    keys_since: agent.keysSince,
  };
}

export function mayActNamesColumn(names: readonly MayActName[]): string {
  return JSON.stringify(names.map(presentMayActName));
}
