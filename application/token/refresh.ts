/**
 * Refresh (RFC 6749 §6; specification "POST /oauth2/token", Refresh): an agent renews its token within a task.
 * usable-grant.ts has the checks.
 */

import { formatScope } from '../../domain/scope.ts';
import { blockDenial } from '../../domain/sponsors/block.ts';
import { GRANT_SECRET_BYTES, rotatedGrant } from '../../domain/tasks/grant.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type CachedAgents, retryOnConflict } from '../authentication/agent-cache.ts';
import type { AgentAuthentication } from '../authentication/authenticate-agent.ts';
import { authenticateClient } from '../authentication/authenticate-client.ts';
import { renewGrant } from '../decisions/renew-grant.ts';
import { allowed, type Outcome } from '../outcome.ts';
import type { HeldPermit } from '../ports/keys.ts';
import { judgedAncestor } from './chain.ts';
import { type IssuedToken, type Minting, mint, tokenEntry } from './mint.ts';
import { checkGrant, type GrantChecking, type GrantRequest } from './usable-grant.ts';

export interface RefreshRequest extends GrantRequest {
  readonly clientAssertion: string | undefined;
  readonly clientId: string | undefined;
}

interface Refresh extends Omit<AgentAuthentication, 'agents'>, GrantChecking, Minting {
  /** Opens one request's view of the agent cache. */
  readonly agentCache: () => CachedAgents;
  /** Whether each renewal has its own record. Otherwise renewals after a task's first are only counted. */
  readonly recordEach: boolean;
}

export async function refreshToken(
  service: Refresh,
  request: RefreshRequest,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<IssuedToken>> {
  const requested = {
    audience: request.resource,
    scope: request.scope === undefined ? undefined : formatScope(request.scope),
  };

  return retryOnConflict(service.agentCache(), async (agents) => {
    const credentials = { assertion: request.clientAssertion, clientId: request.clientId };
    const asking = await authenticateClient(service, agents, credentials, {
      about: requested,
      keys: 'either',
      trace,
      permit,
    });
    if (asking.kind === 'denied') return asking;
    const { agent, assertion } = asking.value;

    const usable = await checkGrant(service, asking.value, request, requested, trace);
    if (usable.kind === 'denied') return usable;
    const { grant, presented, scope, ancestors, refuse } = usable.value;
    const { task } = grant;
    const { sponsorKey } = task;

    // A tool server refuses a token that is dated ahead.
    const now = await service.sharedTime.earliest();
    const token = mint(service, { ...asking.value, task, delegators: ancestors.map(({ agent }) => agent), scope, now });
    const next = grant.rotation && rotatedGrant(presented, service.randomness.secret(GRANT_SECRET_BYTES));
    const [renewed, accessToken] = await Promise.all([
      service.decisions.decide(renewGrant, {
        taskId: task.taskId,
        agentId: agent.agentId,
        sponsorKey,
        grantHash: service.digest(presented.named),
        grantScope: grant.scope,
        scope,
        assertion,
        ...(next && { rotation: { presented: service.digest(request.refreshToken), next: service.digest(next) } }),
        agentRevision: agent.revision,
        ...(ancestors.length > 0 && { ancestors: ancestors.map(judgedAncestor) }),
        recordEach: service.recordEach,
        entry: tokenEntry('token.refreshed', { at: now, task, scope, tokenId: token.tokenId }),
      }),
      token.sign(task.status),
    ]);
    switch (renewed.kind) {
      case 'agent_changed':
      case 'grant_changed':
      case 'parent_ended':
      case 'narrowed':
        return 'conflict';
      case 'replayed':
        return refuse('actor_replayed');
      case 'sponsor_blocked':
        return refuse(blockDenial(renewed.block));
      case 'superseded':
        return refuse('grant_superseded', { misusedTask: { taskId: task.taskId, sponsorKey, endsAt: now } });
      case 'renewed':
        return allowed({
          accessToken,
          expiresIn: token.expiresIn,
          scope,
          refreshToken: next ?? request.refreshToken,
          taskId: task.taskId,
          taskExpiresAt: task.expiresAt,
        });
    }
  });
}
