/**
 * Agents, tasks, renewals, revocations and assertions for the storage suites. Every field has a value. Ids are new and
 * random, because the tests of a suite share a database.
 */

import { randomBytes, randomUUID } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import { sha256 } from '../../adapters/platform/system-crypto.ts';
import type { SpentAssertion } from '../../application/decisions/assertion.ts';
import type { TaskOpening } from '../../application/decisions/open-task.ts';
import type { Renewal } from '../../application/decisions/renew-grant.ts';
import type { GrantRevocation } from '../../application/decisions/revoke-grant.ts';
import type { TokenRevocation } from '../../application/decisions/revoke-single-token.ts';
import type { Agent } from '../../domain/agents/agent.ts';
import { makeOfferId } from '../../domain/delegation/offer.ts';
import {
  type AgentId,
  makeTaskId,
  makeTokenId,
  makeUserId,
  parseAgentId,
  parseSponsorKey,
  type SponsorKey,
  type TokenId,
  type UserId,
} from '../../domain/identifiers.ts';
import { instantFromMicros, plusSeconds } from '../../domain/instant.ts';
import { takenDetail } from '../../domain/ledger/delegation-records.ts';
import type { LedgerEntry, LedgerEvent, LedgerRecord } from '../../domain/ledger/record.ts';
import { saltedText } from '../../domain/ledger/sealed-text.ts';
import { formatScope } from '../../domain/scope.ts';
import type { ProvisionedUser } from '../../domain/signals/provisioned-user.ts';
import { purposeDetail } from '../../domain/tasks/purpose.ts';
import type { Task } from '../../domain/tasks/task.ts';
import { taskTokenClaims } from '../../domain/tasks/task-token.ts';
import { type Claims, readClaims } from '../../domain/tokens/claims.ts';
import { aDelegator, anAgent, NOON } from '../support/domain-fixtures.ts';
import type { Storage } from '../support/storage.ts';

/** Each ULID is greater than the previous one, as in the ids of successive tasks. */
export const ulid = monotonicFactory();

export function anEntry(event: LedgerEvent, changes: Partial<LedgerEntry> = {}): LedgerEntry {
  return { at: NOON, event, decision: 'allow', ...changes };
}

export function aRefusal<Reason extends string>(reason: Reason, changes: Partial<LedgerEntry> = {}) {
  return { ...anEntry('token.denied', changes), decision: 'deny', reason } as const;
}

export function newAgentId(prefix = 'agent'): AgentId {
  const id = parseAgentId(`${prefix}-${randomUUID()}`);
  if (id === undefined) throw new Error('not an agent_id');
  return id;
}

/** Has characters of every kind that a sponsor key may have: all except white space and control characters. */
export function newSponsorKey(): SponsorKey {
  const key = parseSponsorKey(`ada+${randomUUID()}@example.org/é/😀`);
  if (key === undefined) throw new Error('not a sponsor key');
  return key;
}

export function anAssertion(agentId: AgentId, jti: string = randomUUID()): SpentAssertion {
  return { agentId, jti, forgetAt: plusSeconds(NOON, 360) };
}

export async function registeredAgent(storage: Pick<Storage, 'agents'>, changes: Partial<Agent> = {}): Promise<Agent> {
  const agent = anAgent({ agentId: newAgentId(), revision: 1, ...changes });
  await storage.agents.register(agent, anEntry('agent.registered'), aRefusal('agent_already_exists'));
  return agent;
}

export function anOpening(agent: Agent, changes: Partial<Task> = {}): TaskOpening {
  const task: Task = {
    taskId: makeTaskId(ulid()),
    agentId: agent.agentId,
    sponsorKey: newSponsorKey(),
    sponsor: `ada-${randomUUID()}`,
    sessionId: `session-${randomUUID()}`,
    delegatedBy: [],
    audience: 'https://jira.example/path?x=%2F',
    scope: ['jira:read', 'jira:comment'],
    origin: { held: ['jira:read', 'jira:comment', 'mail:send'], asked: ['jira:comment', 'jira:read', 'wiki:read'] },
    delegationDepth: 1,
    createdAt: instantFromMicros(NOON + 1),
    expiresAt: instantFromMicros(NOON + 1_800_000_003),
    status: undefined,
    ...changes,
  };
  return {
    task,
    grantHash: randomBytes(32).toString('hex'),
    assertion: anAssertion(agent.agentId),
    agentRevision: agent.revision,
    entry: anEntry('token.issued', {
      taskId: task.taskId,
      agentId: task.agentId,
      sponsor: task.sponsor,
      audience: task.audience,
      scope: formatScope(task.scope),
      jti: makeTokenId(ulid()),
      delegationDepth: 1,
    }),
  };
}

/** The opening of a task that the agent of another task delegates. */
export function aChildOpening(agent: Agent, parent: TaskOpening, changes: Partial<Task> = {}): TaskOpening {
  const { taskId, agentId, delegatedBy, delegationDepth } = parent.task;
  const opening = anOpening(agent, {
    delegatedBy: [aDelegator(taskId, { agentId }), ...delegatedBy],
    delegationDepth: delegationDepth + 1,
    ...changes,
  });
  const { task } = opening;
  const offerId = makeOfferId(ulid());
  const ancestor = { taskId, agentId, grantHash: parent.grantHash, agentRevision: parent.agentRevision };
  return {
    ...opening,
    delegation: {
      ancestors: [ancestor, ...(parent.delegation?.ancestors ?? [])],
      offer: { offerId, forgetAt: plusSeconds(NOON, 120), latestForgetAt: plusSeconds(NOON, 360) },
      maxChildren: 1000,
      entry: anEntry('delegation.taken', {
        taskId: task.taskId,
        agentId: task.agentId,
        sponsor: task.sponsor,
        delegationDepth: task.delegationDepth,
        detail: takenDetail(offerId, taskId),
      }),
    },
  };
}

/** The assertion of a request that also carries a client assertion. */
export function withClientAssertion(assertion: SpentAssertion, { jti, forgetAt }: SpentAssertion): SpentAssertion {
  return { ...assertion, clientAssertion: { jti, forgetAt } };
}

export async function openedTask(
  storage: Pick<Storage, 'agents' | 'tasks'>,
  changes: Partial<Task> = {},
  agent?: Agent,
): Promise<TaskOpening> {
  const opening = anOpening(agent ?? (await registeredAgent(storage)), changes);
  const outcome = await storage.tasks.open(opening);
  if (outcome.kind !== 'opened') throw new Error(`the task was not opened: ${outcome.kind}`);
  return opening;
}

export function aRenewal(opening: TaskOpening, changes: Partial<Renewal> = {}): Renewal {
  const { task } = opening;
  return {
    taskId: task.taskId,
    agentId: task.agentId,
    sponsorKey: task.sponsorKey,
    grantHash: opening.grantHash,
    grantScope: task.scope,
    scope: task.scope,
    assertion: anAssertion(task.agentId),
    agentRevision: opening.agentRevision,
    recordEach: false,
    entry: { ...opening.entry, event: 'token.refreshed', jti: makeTokenId(ulid()) },
    ...changes,
  };
}

/** A purpose of the task, with its record. */
/** 256 bits in base64url. */
export const saltOf = (name: string) => Buffer.from(sha256(name), 'hex').toString('base64url');

export function aPurpose(
  { taskId, agentId, sponsor }: Task,
  stated = { words: 'Read the é 😀 \u202e of <today>', salt: saltOf(taskId) },
): NonNullable<TaskOpening['purpose']> {
  const detail = purposeDetail(sha256(saltedText(stated.salt, stated.words)));
  return {
    stated,
    entry: anEntry('purpose.stated', { taskId, agentId, sponsor, detail }),
  };
}

/** No other field has this time, so a test notices it in a wrong field. */
const REVOKED_AT = instantFromMicros(NOON + 77_000_001);

export function aRevocation({ task }: TaskOpening, changes: Partial<GrantRevocation> = {}): GrantRevocation {
  const { taskId, sponsorKey, agentId } = task;
  const assertion = anAssertion(agentId);
  return { at: REVOKED_AT, reason: 'client_revoked', taskId, sponsorKey, assertion, ...changes };
}

const ISSUER = 'https://mandate.example';

/** The claims of a token of the task. */
function claimsOf(task: Task, tokenId: TokenId): Claims {
  const made = { issuer: ISSUER, tokenId, task, agent: anAgent(), scope: task.scope, instance: undefined };
  const claims = readClaims(taskTokenClaims({ ...made, now: task.createdAt }).claims);
  if (claims === undefined) throw new Error('a date of the claims is unusable');
  return claims;
}

export function aTokenRevocation(opening: TaskOpening, changes: Partial<TokenRevocation> = {}): TokenRevocation {
  const tokenId = makeTokenId(ulid());
  return {
    tokenId,
    taskId: opening.task.taskId,
    claims: claimsOf(opening.task, tokenId),
    issuer: ISSUER,
    at: REVOKED_AT,
    reason: 'client_revoked',
    forgetAt: plusSeconds(NOON, 420),
    assertion: anAssertion(opening.task.agentId),
    entry: { ...opening.entry, event: 'token.revoked', jti: tokenId, reason: 'client_revoked' },
    ...changes,
  };
}

export async function renewTimes(storage: Storage, opening: TaskOpening, times: number): Promise<void> {
  for (let time = 0; time < times; time++) await storage.tasks.renew(aRenewal(opening));
}

/** The whole ledger, in the order of the pages. */
export async function ledgerOf(storage: Pick<Storage, 'ledger'>): Promise<readonly LedgerRecord[]> {
  const { records, next } = await storage.ledger.page({ limit: 100_000, now: NOON });
  if (next !== undefined) throw new Error('the ledger does not fit one page');
  return records;
}

/** The records with a greater number, in the order of their numbers. */
export function recordsAfter({ checkpoints }: Pick<Storage, 'checkpoints'>, seq: number) {
  return checkpoints.records({ firstSeq: seq + 1, lastSeq: Number.MAX_SAFE_INTEGER }, seq, 100_000);
}

/** The records that the act appends, in the order of their numbers. */
export async function recordedBy(storage: Storage, act: () => Promise<unknown>): Promise<readonly LedgerRecord[]> {
  const before = await storage.ledger.settledThrough();
  await act();
  return recordsAfter(storage, before);
}

/** The entry from which a record was made, which has no sequence number and no checkpoint. */
export function asEntry({ seq, checkpoint, ...entry }: LedgerRecord): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined));
}

export function aUser(changes: Partial<ProvisionedUser> = {}): ProvisionedUser {
  return {
    userId: makeUserId(ulid()) as UserId,
    userName: `Ada.${randomUUID()}@Example.org`,
    externalId: `00u-${randomUUID()}`,
    active: true,
    sponsorKey: newSponsorKey(),
    revision: 1,
    createdAt: NOON,
    modifiedAt: instantFromMicros(NOON + 3),
    ...changes,
  };
}
