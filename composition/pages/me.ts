/** Binds the use cases of a person's own surface to their ports. It exists only if it is configured. */

import type { HttpSurfaces } from '../../adapters/http/app.ts';
import type { ScopeWords } from '../../adapters/http/browser/scope-words.ts';
import type { PageOptions } from '../../adapters/http/me/context.ts';
import { meRoutes } from '../../adapters/http/me/me-routes.ts';
import type { PageSurface } from '../../adapters/http/me/surface.ts';
import { strangersWait } from '../../adapters/jose/key-waits.ts';
import { sha256, sha256Bytes } from '../../adapters/platform/system-crypto.ts';
import { validateMeToken } from '../../application/authentication/validate-me-token.ts';
import { acceptedAfterStop } from '../../application/me/accepted-after-stop.ts';
import { myAgents, myAgentTasks } from '../../application/me/my-agents.ts';
import {
  answerMyApproval,
  mayApprove,
  myApproval,
  myApprovals,
  mySettledApprovals,
} from '../../application/me/my-approvals.ts';
import {
  allowMyDelegation,
  myDelegationRefusals,
  refusedAmong,
  refuseMyDelegation,
} from '../../application/me/my-delegation.ts';
import { myRecords, proveMyRecord } from '../../application/me/my-records.ts';
import { myEndedTasks, myTasks, myTasksById, myTaskTree } from '../../application/me/my-tasks.ts';
import { findPause, mayResume, pauseAgents, resumeAgents } from '../../application/me/pause.ts';
import { stopMyTasks } from '../../application/me/stop-my-tasks.ts';
import type { SignIn } from '../../application/ports/identity-provider.ts';
import type { Secret } from '../../domain/secret.ts';
import type { Parts } from '../parts.ts';
import { authorizeChoice, statusListReach } from '../settings/alternatives.ts';
import { meSessions, pageSignIn, signInSurface } from './sign-in.ts';

/** The contents of the files that the settings name. */
interface MeFiles {
  /** `undefined` if the page's client has none. */
  readonly clientSecret: Secret | undefined;
  readonly scopeWords: ScopeWords;
}

export function openMe(parts: Parts, { clientSecret, scopeWords }: MeFiles): HttpSurfaces['me'] {
  const page = mePage(parts, scopeWords);
  const provider = pageSignIn(parts, clientSecret);
  const signIn = provider && signInSurface(parts, provider);
  return { api: meApi(parts, provider), signIn, page, routes: meRoutes };
}

function meApi(parts: Parts, provider: SignIn | undefined): PageSurface {
  const { settings, anonymousDenials: anonymous, providerKeys, sealedTrees: trees, clock, clockWatch, log } = parts;
  const audience = settings['Service:Me:Audience'];
  const validation = audience !== undefined && {
    providerKeys: providerKeys.at(strangersWait()),
    clock,
    sharedTime: clockWatch,
    audience,
    foreignAudience: settings['Service:UpstreamIdp:Audience'],
    sponsorKeyClaim: settings['Service:UpstreamIdp:SponsorKeyClaim'],
    refuseBound: settings['Service:UpstreamIdp:RefuseBoundTokens'],
  };
  const { storage, archivedPart } = parts;
  const { agents, tasks, sponsors, ledger, checkpoints } = storage;
  const service = { decisions: storage, tasks, sponsors, clock, sharedTime: clockWatch, log, archivedPart };
  return {
    issuer: settings['Service:Issuer'],
    validate: validation ? (token, trace, permit) => validateMeToken(validation, token, trace, permit) : undefined,
    sessions: provider && meSessions(parts, provider),
    refuse: async (reason, trace) => anonymous.record({ event: 'me.denied', reason }, trace),
    tasks: (person, question) => myTasks(service, person, question),
    presentsPurposes: settings['Service:Tasks:Purpose'] !== 'off',
    presentsAuthorizations: authorizeChoice(settings) !== undefined,
    endedTasks: (person, question) => myEndedTasks(service, person, question),
    acceptedAfterStop: () => acceptedAfterStop({ agents, maxTokenTtl: settings['Service:Agents:MaxTokenTtl'] }),
    tasksById: (person, taskIds) => myTasksById(service, person, taskIds),
    agents: (person, question) => myAgents(service, person, question),
    agentTasks: (person, question) => myAgentTasks(service, person, question),
    stop: (person, selection) => stopMyTasks(service, person, selection),
    canPause: settings['Service:Me:Pause'],
    pauseOf: (person) => findPause(service, person),
    pause: (person) => pauseAgents(service, person),
    mayResume: (person) => mayResume(service, person),
    resume: (person) => resumeAgents(service, person),
    records: (person, question) => myRecords({ ledger, archivedPart, clock, digest: sha256 }, person, question),
    prove: (person, seq) => proveMyRecord({ checkpoints, trees, archivedPart, hash: sha256Bytes }, person, seq),
    approvals: approvalsOfMe(parts),
    delegation: settings['Service:Delegation:Enabled'] ? delegationOfMe(service) : undefined,
    log,
  };
}

function delegationOfMe(
  service: Parameters<typeof allowMyDelegation>[0] &
    Parameters<typeof refusedAmong>[0] &
    Parameters<typeof myTaskTree>[0],
): PageSurface['delegation'] {
  return {
    tree: (person, question) => myTaskTree(service, person, question),
    list: (person, limit) => myDelegationRefusals(service, person, limit),
    refusedAmong: (person, agentIds) => refusedAmong(service, person, agentIds),
    refuse: (person, agentId) => refuseMyDelegation(service, person, agentId),
    allow: (person, agentId) => allowMyDelegation(service, person, agentId),
  };
}

function approvalsOfMe(parts: Parts): PageSurface['approvals'] {
  const { settings, storage, archivedPart, clock, clockWatch: sharedTime, measurements, log, randomness } = parts;
  if (!settings['Service:Approvals:Enabled']) return undefined;
  const maxAuthAge = settings['Service:Approvals:MaxAuthAge'];
  const service = {
    decisions: storage,
    approvals: storage.approvals,
    clock,
    sharedTime,
    log,
    archivedPart,
    keysAreSubjects: settings['Service:UpstreamIdp:SponsorKeyClaim'] === 'sub',
    maxAuthAge,
    spend: settings['Service:Approvals:Spend'],
    randomness,
    digest: sha256,
    measurements,
  };
  return {
    list: (person) => myApprovals(service, person),
    settled: (person, limit) => mySettledApprovals(service, person, limit),
    find: (person, approvalId) => myApproval(service, person, approvalId),
    mayApprove: (person) => mayApprove(service, person),
    answer: (person, answer) => answerMyApproval(service, person, answer),
    maxAuthAge,
    holds: { yes: service.spend, no: settings['Service:Approvals:RefusedFor'] },
  };
}

/** Shown on the page in addition to the tasks. `undefined` without `Service:Me:ClientId`. */
export function mePage({ settings, clock }: Parts, scopeWords: ScopeWords): PageOptions | undefined {
  if (settings['Service:Me:ClientId'] === undefined) return undefined;
  return {
    clock,
    sessionTtl: settings['Service:Me:SessionTtl'],
    scopeWords,
    statusLists: statusListReach(settings),
  };
}
