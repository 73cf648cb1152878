/**
 * Redeems an authorization code (RFC 6749 §4.1.3; RFC 7636 §4.5): the client of a person who allowed its request receives
 * a task, its first token and its grant. The code stands for the person's token: it has the person's facts and choice. All
 * checks of an exchange run again.
 *
 * The order of the checks is a security property. Who read a code somewhere must neither spend it nor end its task. So the
 * code is judged only after its client is known, and fits its redirect and its verifier. From then on any answer spends it,
 * except for a temporary refusal.
 */

import { matchesRedirect } from '../../domain/agents/redirect-uri.ts';
import {
  type Authorization,
  type IssuedCode,
  requestDetail,
  verifierMatches,
  voidDetail,
} from '../../domain/authorization/authorization.ts';
import { compareAnswerer } from '../../domain/authorization/authorization-records.ts';
import type { DenialReason } from '../../domain/denial.ts';
import { formatScope } from '../../domain/scope.ts';
import type { Trace } from '../../domain/trace-context.ts';
import { type CachedAgents, retryOnConflict } from '../authentication/agent-cache.ts';
import type { AgentAuthentication, AuthorizationClients } from '../authentication/authenticate-agent.ts';
import { type AuthenticatedClient, authenticateClient, DOCUMENT_AWAY } from '../authentication/authenticate-client.ts';
import { describeClient } from '../authentication/find-client.ts';
import { type Reporting, reportDifferences } from '../ledger/differences.ts';
import { allowed, type Denial, denied, type Outcome } from '../outcome.ts';
import type { Authorizations } from '../ports/authorizations.ts';
import type { HeldPermit } from '../ports/keys.ts';
import type { IssuedToken } from './mint.ts';
import { type Invocation, startTask, type TaskStarting } from './start-task.ts';

export interface CodeRequest {
  readonly code: string;
  /** `code_verifier` (RFC 7636 §4.1), of any form. */
  readonly verifier: string;
  /** `undefined` stands for that of the request. */
  readonly redirectUri: string | undefined;
  /** `undefined` stands for that of the request. */
  readonly resource: string | undefined;
  readonly clientAssertion: string | undefined;
  readonly clientId: string | undefined;
}

interface Redemption extends Omit<AgentAuthentication, 'agents'>, TaskStarting, Reporting {
  readonly clients: AuthorizationClients;
  /** Opens one request's view of the agent cache. */
  readonly agentCache: () => CachedAgents;
  readonly authorizations: Pick<Authorizations, 'findByCode'>;
  /** Whether people's sponsor keys are their `sub`, so that the ledger names the person who answered. */
  readonly keysAreSubjects: boolean;
}

export async function redeemCode(
  service: Redemption,
  request: CodeRequest,
  trace?: Trace,
  permit?: HeldPermit,
): Promise<Outcome<IssuedToken>> {
  return retryOnConflict(service.agentCache(), async (agents) => {
    // 1. Authenticate the client. The code decides whether a client without a key is one at all, so none is recorded by name.
    const credentials = { assertion: request.clientAssertion, clientId: request.clientId };
    const asking = await authenticateClient(service, agents, credentials, { keys: 'document', trace, permit });
    if (asking.kind === 'denied') return asking;
    const client = asking.value;

    // 2. Find the code, and compare it with the request.
    const found = await findCode(service, client, request, { trace, permit });
    if (found.kind === 'denied') return found;
    const authorization = found.value;
    const { code, person } = authorization;

    // 3. The agent is enabled. Its code has shown that this is its client.
    const refuse = refusing(client, authorization);
    if (!client.agent.enabled) return refuse('agent_disabled', { spentCode: authorization.requestId });

    // 4. Start the task, with the checks of an exchange. The code is spent in the same transaction.
    const { requestId, audience } = authorization;
    const invocation: Invocation = {
      person,
      audience,
      requested: code.scope,
      purpose: authorization.purpose,
      authorized: {
        requestId,
        codeHash: code.hash,
        taskId: code.taskId,
        // Without a key now, the client cannot prove its name later either.
        isRotating: client.assertion === undefined,
        asked: authorization.asked,
        endsBy: code.taskEndsAt,
      },
    };
    return startTask(service, client, invocation, trace);
  });
}

/** The authorization whose unspent code fits the request. */
async function findCode(
  service: Pick<
    Redemption,
    'authorizations' | 'clients' | 'digest' | 'sharedTime' | 'keysAreSubjects' | keyof Reporting
  >,
  client: AuthenticatedClient,
  request: CodeRequest,
  { trace, permit }: { readonly trace: Trace | undefined; readonly permit: HeldPermit },
): Promise<Outcome<AllowedAuthorization>> {
  const { agent, assertion } = client;
  const found = await service.authorizations.findByCode(service.digest(request.code));
  const authorization = found?.row;
  if (found === undefined || !isAllowed(authorization) || authorization.agentId !== agent.agentId) {
    // A client_id alone proves nothing. Without a code of the agent, anyone could fill the ledger with its name.
    const about = assertion && { agentId: agent.agentId, audience: request.resource };
    return denied('code_unknown', { about, assertion });
  }
  // The row may name any person. Only the error in the log names the row.
  const compared = compareAnswerer(found, service.keysAreSubjects);
  if (compared.kind === 'differs') {
    await reportDifferences(service, [compared.difference]);
    return denied('authorization_altered', { about: { agentId: agent.agentId }, assertion });
  }
  const refuse = refusing(client, authorization);
  const { requestId, state, voidReason, person, code } = authorization;

  const fits = verifierMatches(authorization.challenge, request.verifier, service.digest);
  // RFC 6749 §4.1.2. Only who has the verifier may end the task: a code alone may have been read in a log.
  if (fits && state === 'spent') {
    const endsAt = await service.sharedTime.earliest();
    return refuse('code_replayed', { misusedTask: { taskId: code.taskId, sponsorKey: person.sponsorKey, endsAt } });
  }
  if (request.redirectUri !== undefined && request.redirectUri !== authorization.redirectUri) {
    return refuse('redirect_uri_not_registered', { detail: OTHER_REDIRECT });
  }
  if (!fits) return refuse('code_verifier_mismatch');

  if (state !== 'allowed') return refuse('code_expired', {}, voidDetail(requestId, voidReason ?? 'request_expired'));
  if (code.expiresAt <= (await service.sharedTime.latest())) return refuse('code_expired');
  const spend = { spentCode: requestId };
  // The registration or the document may have lost the redirect since then.
  const described = await describeClient(service.clients, agent, trace, permit);
  if (described.kind === 'unavailable') return refuse('actor_keys_unavailable', { detail: DOCUMENT_AWAY });
  const redirectUris = described.kind === 'found' ? described.client.redirectUris : [];
  if (!redirectUris.some((uri) => matchesRedirect(uri, authorization.redirectUri))) {
    return refuse('redirect_uri_not_registered', spend);
  }
  if (request.resource !== undefined && request.resource !== authorization.audience) {
    return refuse('audience_mismatch', spend);
  }
  return allowed(authorization);
}

const OTHER_REDIRECT = 'The redirect_uri is not the one of the request that the code answers.';

/** An authorization that the person allowed, in any later state. */
type AllowedAuthorization = Authorization & { readonly code: IssuedCode };

function isAllowed(authorization: Authorization | undefined): authorization is AllowedAuthorization {
  return authorization?.code !== undefined;
}

/** Refusals that name the agent, the person and the request: the client has presented a code of theirs. */
function refusing({ agent, assertion }: AuthenticatedClient, authorization: AllowedAuthorization) {
  const { person, audience, code } = authorization;
  return (
    reason: DenialReason,
    more: Pick<Denial, 'detail' | 'misusedTask' | 'spentCode'> = {},
    detail = requestDetail(authorization),
  ) =>
    denied(reason, {
      ...more,
      about: { agentId: agent.agentId, sponsor: person.subject, audience, scope: formatScope(code.scope), detail },
      assertion,
    });
}
