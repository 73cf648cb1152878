/** Converts between agents and rows of the `agents` table. */

import type { Knex } from 'knex';
import type { Agent, AgentKeySource } from '../../../domain/agents/agent.ts';
import type { JwkSet } from '../../../domain/agents/public-key.ts';
import type { AgentId } from '../../../domain/identifiers.ts';
import type { Instant } from '../../../domain/instant.ts';
import { type BindInstant, type Bound, readScope, scopeColumn, storable } from './column.ts';

export interface AgentRow {
  readonly agent_id: AgentId;
  readonly display_name: string;
  readonly allowed_scopes: string;
  /** A list as JSON text. */
  readonly allowed_audiences: string;
  /** A list as JSON text. */
  readonly high_risk_audiences: string;
  /** In seconds. */
  readonly max_task_ttl: number;
  /** In seconds. */
  readonly max_token_ttl: number;
  readonly max_delegation_depth: number;
  readonly jwks_uri: string | null;
  /** JSON text, because the members must keep their order. */
  readonly jwks: string | null;
  readonly enabled: boolean | number;
  readonly revision: number;
  readonly created_at: Instant;
  readonly updated_at: Instant;
  readonly keys_since: Instant;
}

/** Not `*`: when a release adds a column, a prepared `select *` fails on every open connection of older replicas. */
export const agentColumnNames = [
  'agent_id',
  'display_name',
  'allowed_scopes',
  'allowed_audiences',
  'high_risk_audiences',
  'max_task_ttl',
  'max_token_ttl',
  'max_delegation_depth',
  'jwks_uri',
  'jwks',
  'enabled',
  'revision',
  'created_at',
  'updated_at',
  'keys_since',
] as const satisfies readonly (keyof AgentRow)[];

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
    enabled: Boolean(row.enabled),
    revision: row.revision,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    keysSince: row.keys_since,
  };
}

function readKeys(row: AgentRow): AgentKeySource {
  if (row.jwks_uri !== null) return { kind: 'remote', uri: row.jwks_uri };
  if (row.jwks === null) throw new Error('an agent is stored without keys');
  const jwks: JwkSet = JSON.parse(row.jwks);
  return { kind: 'inline', jwks };
}

/** The value of every column, by the column's name. */
export function agentColumns(agent: Agent, instant: BindInstant): Record<keyof AgentRow, Bound> {
  return {
    agent_id: agent.agentId,
    display_name: storable('display_name', agent.displayName),
    allowed_scopes: scopeColumn(agent.allowedScopes),
    allowed_audiences: JSON.stringify(agent.allowedAudiences),
    high_risk_audiences: JSON.stringify(agent.highRiskAudiences),
    max_task_ttl: agent.maxTaskTtl,
    max_token_ttl: agent.maxTokenTtl,
    max_delegation_depth: agent.maxDelegationDepth,
    jwks_uri: agent.keys.kind === 'remote' ? storable('jwks_uri', agent.keys.uri) : null,
    jwks: agent.keys.kind === 'inline' ? JSON.stringify(agent.keys.jwks) : null,
    enabled: agent.enabled,
    revision: agent.revision,
    created_at: instant(agent.createdAt),
    updated_at: instant(agent.updatedAt),
    keys_since: instant(agent.keysSince),
  };
}

// Statements about agents, which both engines build with Knex.

/** Changes no row if the id is taken. */
export function insertAgent(knex: Knex, agent: Agent, instant: BindInstant) {
  return knex('agents').insert(agentColumns(agent, instant)).onConflict('agent_id').ignore();
}

/** Changes no row unless the stored revision is the previous one. */
export function replaceAgent(knex: Knex, agent: Agent, instant: BindInstant) {
  return knex('agents')
    .where({ agent_id: agent.agentId, revision: agent.revision - 1 })
    .update(agentColumns(agent, instant));
}

export function deleteAgent(knex: Knex, agentId: AgentId) {
  return knex('agents').where({ agent_id: agentId }).delete();
}
