/**
 * Revocation (RFC 7009; specification "POST /oauth2/revoke"): an agent gives back a grant, and with it the task, or a
 * single token. Anything that is not its own is recorded and answered as if it had worked, so that nobody learns here
 * whether a token exists.
 */

import { agentSubject } from '../../domain/identifiers.ts';
import { plusSeconds } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { looksLikeGrant } from '../../domain/tasks/grant.ts';
import type { Revocation } from '../../domain/tasks/task.ts';
import { CLOCK_SKEW_SECONDS } from '../../domain/tokens/clock-skew.ts';
import { textClaim } from '../../domain/tokens/compact-jws.ts';
import { isJsonObject, member } from '../../domain/tokens/strict-json.ts';
import {
  type AgentAuthentication,
  type AuthenticatedAgent,
  authenticateAgent,
} from '../authentication/authenticate-agent.ts';
import { allowed, denied, type Outcome } from '../outcome.ts';
import type { Digest } from '../ports/digest.ts';
import type { SigningKeys } from '../ports/keys.ts';
import type { Tasks } from '../ports/tasks.ts';
import { readTaskToken, type TaskToken } from './read-task-token.ts';

export interface RevocationRequest {
  readonly token: string;
  readonly clientAssertion: string | undefined;
  readonly clientId: string | undefined;
}

export interface RevokeToken extends AgentAuthentication {
  readonly tasks: Tasks;
  readonly signingKeys: SigningKeys;
  readonly digest: Digest;
  readonly issuer: string;
}

/** What became of it; for the log, since every allowed answer looks the same. */
export type RevocationResult = 'task_revoked' | 'token_revoked' | 'nothing_left';

export async function revokeToken(
  service: RevokeToken,
  request: RevocationRequest,
): Promise<Outcome<RevocationResult>> {
  // 1. Who is asking. A disabled agent may still take its own access away.
  const credentials = { assertion: request.clientAssertion, clientId: request.clientId };
  const asking = await authenticateAgent(service, credentials, { disabledToo: true });
  if (asking.kind === 'denied') return asking;

  // 2. A grant ends its task; a token ends alone. The hint is only a hint (RFC 7009 §2.1): the token says what it is.
  if (looksLikeGrant(request.token)) return revokeGrant(service, asking.value, request.token);
  const token = await readTaskToken(service, request.token);
  const owner = token === undefined ? undefined : textClaim(token.claims, 'client_id');
  if (token === undefined || owner !== agentSubject(asking.value.agent.agentId)) return notOwner(asking.value);
  return revokeOne(service, asking.value, token);
}

async function revokeGrant(
  service: RevokeToken,
  { agent, assertion }: AuthenticatedAgent,
  grant: string,
): Promise<Outcome<RevocationResult>> {
  const revocation: Revocation = { at: service.clock.now(), reason: 'client_revoked' };
  const result = await service.tasks.revokeByGrant(revocation, agent.agentId, service.digest(grant), assertion);
  switch (result.kind) {
    case 'revoked':
      return allowed('task_revoked');
    case 'already_ended':
      return allowed('nothing_left');
    case 'replayed':
      return denied('actor_replayed', { about: { agentId: agent.agentId }, assertion });
    case 'not_found':
      return notOwner({ agent, assertion });
  }
}

async function revokeOne(
  service: RevokeToken,
  { agent, assertion }: AuthenticatedAgent,
  token: TaskToken,
): Promise<Outcome<RevocationResult>> {
  const at = service.clock.now();
  // By the clock of whoever is behind, too: until then another instance, or a tool server, may still take the token.
  // From then on there is nothing to take away, and once the sweeper has forgotten the revocation nothing tells a
  // second one from a first.
  const overAt = plusSeconds(token.expiresAt, CLOCK_SKEW_SECONDS);
  if (overAt <= at) return spendOnly(service, { agent, assertion });
  const result = await service.tasks.revokeToken(
    { tokenId: token.tokenId, taskId: token.taskId, forgetAt: overAt },
    { at, reason: 'client_revoked' },
    assertion,
    revokedEntry(at, agent.agentId, token),
  );
  switch (result.kind) {
    case 'revoked':
      return allowed('token_revoked');
    case 'already_revoked':
      return allowed('nothing_left');
    case 'replayed':
      return denied('actor_replayed', { about: { agentId: agent.agentId }, assertion });
  }
}

async function spendOnly(
  service: RevokeToken,
  { agent, assertion }: Pick<AuthenticatedAgent, 'agent' | 'assertion'>,
): Promise<Outcome<RevocationResult>> {
  const result = await service.tasks.spend(assertion);
  if (result.kind === 'spent') return allowed('nothing_left');
  return denied('actor_replayed', { about: { agentId: agent.agentId }, assertion });
}

function notOwner({ agent, assertion }: Pick<AuthenticatedAgent, 'agent' | 'assertion'>) {
  return denied('revocation_not_owner', { about: { agentId: agent.agentId }, assertion });
}

/** `token.revoked`, in the words of the token itself, whose signature has verified. */
function revokedEntry(at: LedgerEntry['at'], agentId: LedgerEntry['agentId'], token: TaskToken): LedgerEntry {
  const { claims } = token;
  const actor = member(claims, 'act');
  const depth = isJsonObject(actor) ? member(actor, 'depth') : undefined;
  return {
    at,
    event: 'token.revoked',
    taskId: token.taskId,
    agentId,
    sponsor: textClaim(claims, 'sub'),
    audience: textClaim(claims, 'aud'),
    scope: textClaim(claims, 'scope'),
    jti: token.tokenId,
    delegationDepth: typeof depth === 'number' ? depth : undefined,
    decision: 'allow',
    reason: 'client_revoked',
  };
}
