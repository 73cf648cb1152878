/**
 * Revocation (RFC 7009; specification "POST /oauth2/revoke"): an agent revokes a grant, and with it the task, or a
 * single token. A token that was not issued to the agent is recorded as a refusal but answered as a success. The
 * response therefore never shows whether a token exists.
 */

import { agentSubject } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { looksLikeGrant, readGrant } from '../../domain/tasks/grant.ts';
import type { GrantHash, Revocation, Task } from '../../domain/tasks/task.ts';
import { CLOCK_SKEW_SECONDS } from '../../domain/tokens/compact-jws.ts';
import { isJsonObject, member, textMember } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { AgentAuthentication } from '../authentication/authenticate-agent.ts';
import { type AuthenticatedClient, authenticateClient } from '../authentication/authenticate-client.ts';
import type { GrantOwner } from '../decisions/fact.ts';
import { findGrantOwner } from '../decisions/find.ts';
import { revokeGrant } from '../decisions/revoke-grant.ts';
import { revokeSingleToken } from '../decisions/revoke-single-token.ts';
import { spendAssertion } from '../decisions/spend-assertion.ts';
import { allowed, type Denied, denied, type Outcome } from '../outcome.ts';
import { type Decisions, StorageUnavailable } from '../ports/decisions.ts';
import type { HeldPermit, SigningKeys } from '../ports/keys.ts';
import type { Digest } from '../ports/runtime.ts';
import type { Tasks } from '../ports/tasks.ts';
import { type MismatchCounter, readTaskToken, type TaskToken } from './introspect.ts';

export interface RevocationRequest {
  readonly token: string;
  readonly clientAssertion: string | undefined;
  readonly clientId: string | undefined;
}

interface RevokeToken extends AgentAuthentication {
  readonly decisions: Decisions;
  readonly tasks: Pick<Tasks, 'findGrant' | 'rotates'>;
  readonly signingKeys: SigningKeys;
  readonly digest: Digest;
  readonly issuer: string;
  readonly measurements: MismatchCounter;
}

/** The result for the log. The response is the same for all three. */
export type RevocationResult = 'task_revoked' | 'token_revoked' | 'nothing_left';

export async function revokeToken(
  service: RevokeToken,
  request: RevocationRequest,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<RevocationResult>> {
  // 1. Authenticate the agent. A disabled agent may still revoke its own tokens.
  const credentials = { assertion: request.clientAssertion, clientId: request.clientId };
  const asking = await authenticateClient(service, service.agents, credentials, { keys: 'either', trace, permit });
  if (asking.kind === 'denied') return asking;

  // 2. Revoking a grant ends its task; revoking a task token ends only that token. The form of the token decides which
  // of the two it is, not the type hint (RFC 7009 §2.1).
  if (looksLikeGrant(request.token)) return revokeTask(service, asking.value, request.token);
  const token = await readTaskToken(service, request.token);
  const owner = token === undefined ? undefined : textMember(token.claims.json, 'client_id');
  if (token === undefined || owner !== agentSubject(asking.value.agent.agentId)) return notOwner(asking.value);
  return revokeOne(service, asking.value, token);
}

async function revokeTask(
  service: RevokeToken,
  { agent, assertion }: AuthenticatedClient,
  token: string,
): Promise<Outcome<RevocationResult>> {
  const presented = readGrant(token);
  const grantHash = service.digest(presented.named);
  const grant = await service.tasks.findGrant(agent.agentId, grantHash);
  // The two kinds of grant have two forms. No client was given this one.
  const isOtherForm = grant !== undefined && (grant.rotation === undefined) !== (presented.rotating === undefined);
  if (isOtherForm) return notOwner({ agent, assertion });
  if (grant !== undefined && assertion === undefined && grant.rotation === undefined) return needsKey(grant.task);
  const found = grant?.task ?? (await findOwner(service, { agent, assertion }, grantHash));
  // The transaction that records this refusal looks a third time.
  if (found === undefined) return notOwner({ agent, assertion }, grantHash);
  const { taskId, sponsorKey } = found;
  const revocation: Revocation = { at: await service.sharedTime.earliest(), reason: 'client_revoked' };
  const verdict = await service.decisions.decide(revokeGrant, { ...revocation, taskId, sponsorKey, assertion });
  switch (verdict) {
    case 'revoked':
      return allowed('task_revoked');
    case 'already_ended':
      return allowed('nothing_left');
    case 'replayed':
      return denied('actor_replayed', { about: { agentId: agent.agentId }, assertion });
  }
}

/** A plain read never decides that there is nothing to revoke (docs/decisions/0027-a-switch-that-finds-nothing.md). */
async function findOwner(
  { decisions }: Pick<RevokeToken, 'decisions'>,
  { agent, assertion }: Pick<AuthenticatedClient, 'agent' | 'assertion'>,
  grantHash: GrantHash,
): Promise<Pick<GrantOwner, 'taskId' | 'sponsorKey'> | undefined> {
  const owner = await decisions.decide(findGrantOwner, { agentId: agent.agentId, grantHash });
  // The look-up does not say whether the grant needs a key.
  if (owner !== undefined && assertion === undefined) {
    throw new StorageUnavailable('A read did not find a grant that is stored');
  }
  return owner;
}

/** The code of the task was redeemed with a key, and the client shows none. */
function needsKey({ agentId, taskId, sponsor }: Pick<Task, 'agentId' | 'taskId' | 'sponsor'>): Denied {
  return denied('client_not_public', { about: { agentId, taskId, sponsor } });
}

async function revokeOne(
  service: RevokeToken,
  { agent, assertion }: AuthenticatedClient,
  token: TaskToken,
): Promise<Outcome<RevocationResult>> {
  // A client_id alone revokes only what came from a code that it redeemed alone.
  if (assertion === undefined && !(await service.tasks.rotates(token.taskId))) return notOwner({ agent, assertion });
  const at = service.clock.now();
  // Until this time, an instance or a tool server with a slower clock may still accept the token. Afterwards there is
  // nothing to revoke, and the sweeper may have deleted an earlier revocation of the token. The earlier of two clocks
  // decides: no clock that is ahead drops a revocation.
  const overAt = plusSeconds(token.expiresAt, CLOCK_SKEW_SECONDS);
  if (overAt <= (await service.sharedTime.earliest())) return spendOnly(service, { agent, assertion });
  const verdict = await service.decisions.decide(revokeSingleToken, {
    tokenId: token.tokenId,
    taskId: token.taskId,
    claims: token.claims,
    issuer: service.issuer,
    forgetAt: overAt,
    at,
    reason: 'client_revoked',
    assertion,
    entry: revokedEntry(at, agent.agentId, token),
  });
  switch (verdict) {
    case 'revoked':
      return allowed('token_revoked');
    case 'already_revoked':
    // A deleted task: nothing accepts its tokens.
    case 'no_task':
      return allowed('nothing_left');
    case 'mismatch':
      service.measurements?.tokenMismatch('revocation');
      return notOwner({ agent, assertion });
    case 'replayed':
      return denied('actor_replayed', { about: { agentId: agent.agentId }, assertion });
  }
}

async function spendOnly(
  service: RevokeToken,
  { agent, assertion }: Pick<AuthenticatedClient, 'agent' | 'assertion'>,
): Promise<Outcome<RevocationResult>> {
  if (assertion === undefined) return allowed('nothing_left');
  const verdict = await service.decisions.decide(spendAssertion, assertion);
  if (verdict === 'spent') return allowed('nothing_left');
  return denied('actor_replayed', { about: { agentId: agent.agentId }, assertion });
}

/** @param unknownGrant the grant that the plain read did not find */
function notOwner({ agent, assertion }: Pick<AuthenticatedClient, 'agent' | 'assertion'>, unknownGrant?: GrantHash) {
  // A client_id alone proves nothing: a stranger must not fill the ledger with the name of the agent.
  if (assertion === undefined) return denied('revocation_not_owner');
  return denied('revocation_not_owner', { about: { agentId: agent.agentId }, assertion, unknownGrant });
}

/** The `token.revoked` entry, from the claims of the token, which the decision compares with the stored task. */
function revokedEntry(at: LedgerEntry['at'], agentId: LedgerEntry['agentId'], token: TaskToken): LedgerEntry {
  const { subject, json: claims } = token.claims;
  const actor = member(claims, 'act');
  const depth = isJsonObject(actor) ? member(actor, 'depth') : undefined;
  return {
    at,
    event: 'token.revoked',
    taskId: token.taskId,
    agentId,
    sponsor: subject,
    audience: textMember(claims, 'aud'),
    scope: textMember(claims, 'scope'),
    jti: token.tokenId,
    delegationDepth: typeof depth === 'number' ? depth : undefined,
    decision: 'allow',
    reason: 'client_revoked',
  };
}
