/** Binds the use cases to their ports for the HTTP surface. */

import type { ActedOn } from '../adapters/http/acted-on.ts';
import type { AdmissionControl } from '../adapters/http/admission/admission.ts';
import { workLimiters } from '../adapters/http/admission/concurrency.ts';
import type { RateLimitRules } from '../adapters/http/admission/rate-limit.ts';
import type { HttpSurfaces } from '../adapters/http/app.ts';
import { type ApprovalSurface, approvalPath } from '../adapters/http/oauth/endpoints.ts';
import { registrationPath } from '../adapters/http/oauth/register.ts';
import { REVOCATION_PATH, TOKEN_PATH } from '../adapters/http/public/documents.ts';
import { type StatusListSurface, statusListPath } from '../adapters/http/public/status-lists.ts';
import type { OptionalPath } from '../adapters/http/routes.ts';
import { manyWait, strangersWait } from '../adapters/jose/key-waits.ts';
import { providerKeysReadiness } from '../adapters/jose/provider-keys.ts';
import { retryPause } from '../adapters/platform/system-clock.ts';
import { sha256, sha256Bytes } from '../adapters/platform/system-crypto.ts';
import { zlibDeflate } from '../adapters/platform/zlib-deflate.ts';
import type { Storage } from '../adapters/storage/storage.ts';
import { blockSponsor, unblockSponsor } from '../application/admin/block-sponsor.ts';
import { listActs } from '../application/admin/list-acts.ts';
import { listAgents } from '../application/admin/list-agents.ts';
import { listBlocks } from '../application/admin/list-blocks.ts';
import { listTasks, showTask, taskTree } from '../application/admin/list-tasks.ts';
import { registerAgent } from '../application/admin/register-agent.ts';
import { removeAgent } from '../application/admin/remove-agent.ts';
import { stopEverything } from '../application/admin/stop-everything.ts';
import { stopTasks } from '../application/admin/stop-tasks.ts';
import { updateAgent } from '../application/admin/update-agent.ts';
import { askForApproval } from '../application/approvals/ask.ts';
import { agentCache } from '../application/authentication/agent-cache.ts';
import type { AuthorizationClients } from '../application/authentication/authenticate-agent.ts';
import { registerClient } from '../application/authorization/register-client.ts';
import { proveRecord } from '../application/ledger/prove.ts';
import { listCheckpoints, queryLedger } from '../application/ledger/query.ts';
import { recordDenials } from '../application/ledger/record-denial.ts';
import type { TrustedChain } from '../application/ledger/trusted-chain.ts';
import { denied } from '../application/outcome.ts';
import type { SigningKeys } from '../application/ports/keys.ts';
import type { ReadinessCheck } from '../application/ports/runtime.ts';
import { describeUsedTwice } from '../application/ports/storage.ts';
import type { DelegationRules } from '../application/token/chain.ts';
import { exchangeToken } from '../application/token/exchange.ts';
import { handOver } from '../application/token/hand-over.ts';
import { introspectToken } from '../application/token/introspect.ts';
import { listOpener } from '../application/token/open-listed-task.ts';
import { redeemCode } from '../application/token/redeem.ts';
import { refreshToken } from '../application/token/refresh.ts';
import { revokeToken } from '../application/token/revoke.ts';
import { publishedListIds, publishedStatusLists } from '../application/token/status-list.ts';
import { takeUp } from '../application/token/take-up.ts';
import { usersInTheWay } from '../domain/signals/provisioned-user.ts';
import type { Parts } from './parts.ts';
import { personChecks } from './person-checks.ts';
import { authorizeChoice } from './settings/alternatives.ts';
import { optionalParameters } from './settings/optional-parameters.ts';
import { registrationRules } from './settings/registration-rules.ts';
import type { Settings, SettingsSection } from './settings/settings.ts';

export function httpSurfaces(parts: Parts): HttpSurfaces {
  const { settings, signingKeys, providerKeys, clock, clockWatch, log, randomness, measurements, tracing } = parts;
  const { transparencyLog } = parts;
  const { operators: named } = parts;
  const access: Access = {
    apiKey: settings['Service:Admin:ApiKey'],
    refuse: async (reason, trace) => parts.anonymousDenials.record({ event: 'admin.denied', reason }, trace),
    operators: named?.access,
  };
  const [agents, lists, asking] = [oauth(parts), statusLists(parts), approvals(parts)];
  return {
    admission: {
      ...parts.admission,
      denials: parts.anonymousDenials,
      clock,
      log,
      notAdmitted: measurements?.notAdmitted,
      pages: { authorize: parts.authorize?.refusalPages },
    },
    issuer: settings['Service:Issuer'],
    signingKeys,
    log,
    randomness,
    measurements,
    tracing,
    oauth: agents,
    admin: admin(parts, access, named),
    audit: audit(parts, access),
    me: parts.me,
    authorizing: authorizeChoice(settings),
    agentKeys: { find: (agentId) => parts.storage.agents.find(agentId), log },
    // The most frequent first: Express compares a path with them in this order.
    optional: [
      lists && statusListPath(lists, log),
      asking && approvalPath(agents, asking),
      parts.authorize?.path,
      transparencyLog?.path(access),
      clientRegistration(parts),
    ].filter((path) => path !== undefined),
    ...parts.receivers,
    readiness: [
      parts.storage.readiness,
      clockWatch.readiness,
      signingKeyReadiness(signingKeys),
      sealingReadiness(parts.trustedChain),
      providerKeysReadiness(providerKeys, clock),
      ...(parts.approvalKeys?.readiness === undefined ? [] : [parts.approvalKeys.readiness]),
      ...(transparencyLog === undefined ? [] : [transparencyLog.readiness]),
    ],
  };
}

type Access = Pick<HttpSurfaces['audit'], 'apiKey' | 'refuse' | 'operators'>;

function oauth(parts: Parts): HttpSurfaces['oauth'] {
  const { settings, signingKeys, agentKeys, providerKeys, clock, log, randomness } = parts;
  const { measurements } = parts;
  const issuer = settings['Service:Issuer'];
  const entries = settings['Service:StatusLists:Entries'];
  const tokenService = {
    ...personChecks(parts),
    randomness,
    signingKeys,
    // An agent whose keys are fetched is a stranger until then. Who presents a person's token was authenticated before.
    agentKeys: agentKeys.at(strangersWait()),
    providerKeys: providerKeys.at(manyWait()),
    agentCache: agentCache(parts.sharedStorage.agents),
    digest: sha256,
    audiences: [issuer, `${issuer}${TOKEN_PATH}`],
    keepOrigin: settings['Service:Console:Port'] !== undefined,
    delegation: delegationRules(settings),
    sponsorCacheTtl: settings['Service:UpstreamIdp:SponsorCheck:CacheTtl'],
    recordEach: !(settings['Service:Audit:Aggregation:Enabled'] && settings['Service:Audit:Aggregation:Renewals']),
    statusLists: settings['Service:StatusLists:Enabled']
      ? {
          entries,
          knownLists: new Map(),
          monotonic: () => performance.now(),
          openList: listOpener({ decisions: parts.sharedStorage, randomness, clock, entries }),
        }
      : undefined,
  };
  const { storage } = parts;
  const { agents, tasks, sponsors, authorizations } = storage;
  const clients = authorizationClients(parts);
  const service = {
    ...tokenService,
    decisions: storage,
    agents,
    tasks,
    sponsors,
    authorizations,
    clients,
    measurements,
  };
  const redemption = clients && {
    ...service,
    clients,
    keysAreSubjects: service.sponsorKeyClaim === 'sub',
    log,
    archivedPart: parts.archivedPart,
  };
  const revocation = {
    ...service,
    agentKeys: agentKeys.at(strangersWait()),
    audiences: [...service.audiences, `${issuer}${REVOCATION_PATH}`],
  };
  return {
    exchange: (request, trace, permit) => exchangeToken(service, request, trace, permit),
    refresh: (request, trace, permit) => refreshToken(service, request, trace, permit),
    handOver: (request, trace, permit) => handOver(service, request, trace, permit),
    takeUp: (request, trace, permit) => takeUp(service, request, trace, permit),
    redeem: async (request, trace, permit) =>
      redemption === undefined ? denied('unsupported_grant_type') : redeemCode(redemption, request, trace, permit),
    introspect: (token) => introspectToken(service, token),
    revoke: (request, trace, permit) => revokeToken(revocation, request, trace, permit),
    record: recordDenials({ decisions: storage, anonymous: parts.anonymousDenials, clock }),
    optionalParameters: optionalParameters(settings),
    log,
  };
}

function delegationRules(settings: Settings): DelegationRules | undefined {
  if (!settings['Service:Delegation:Enabled']) return undefined;
  return {
    maxDepth: settings['Service:Delegation:MaxDepth'],
    maxChildrenPerTask: settings['Service:Delegation:MaxChildrenPerTask'],
    offerTtl: settings['Service:Delegation:OfferTtl'],
  };
}

function authorizationClients({ settings, storage, clientDocuments }: Parts): AuthorizationClients | undefined {
  if (settings['Service:Authorize:ClientId'] === undefined) return undefined;
  return {
    documents: clientDocuments,
    findByDocument: (uri) => storage.agents.findByDocument(uri),
    publicClients: settings['Service:Authorize:PublicClients'],
  };
}

function clientRegistration({ settings, storage: { agents }, anonymousDenials, log }: Parts): OptionalPath | undefined {
  if (authorizeChoice(settings)?.answersRegistration !== true) return undefined;
  return registrationPath({
    register: (request) => registerClient({ agents }, request),
    refuse: async (reason, trace) => anonymousDenials.record({ event: 'authorization.denied', reason }, trace),
    log,
  });
}

function approvals(parts: Parts): ApprovalSurface | undefined {
  const { settings, signingKeys, approvalKeys, clock, clockWatch: sharedTime, randomness, measurements, log } = parts;
  if (approvalKeys === undefined) return undefined;
  const issuer = settings['Service:Issuer'];
  const rules = {
    lifetime: settings['Service:Approvals:Lifetime'],
    refusedFor: settings['Service:Approvals:RefusedFor'],
    maxPendingPerTask: settings['Service:Approvals:MaxPendingPerTask'],
    maxPendingPerPerson: settings['Service:Approvals:MaxPendingPerPerson'],
    maxQuestionsPerHour: settings['Service:Approvals:MaxQuestionsPerHour'],
    notifies: settings['Service:Approvals:Notify:Url'] !== undefined,
    keysAreSubjects: settings['Service:UpstreamIdp:SponsorKeyClaim'] === 'sub',
  };
  const service = {
    decisions: parts.storage,
    tasks: parts.storage.tasks,
    signingKeys,
    approvalKeys,
    clock,
    sharedTime,
    randomness,
    measurements,
    log,
    archivedPart: parts.archivedPart,
    digest: sha256,
    issuer,
    rules,
  };
  return { issuer, ask: (question, trace, permit) => askForApproval(service, question, trace, permit) };
}

function admin(parts: Parts, access: Access, named: Parts['operators']): HttpSurfaces['admin'] {
  const { settings, agentKeys, clock, clockWatch, log } = parts;
  const issuer = settings['Service:Issuer'];
  const rules = registrationRules(settings);
  const registration = { clock, agentKeys, rules };
  return actedOn(parts.storage, named?.explain, (storage) => {
    const { agents, tasks, sponsors, ledger, provisionedUsers } = storage;
    const service = { ...registration, decisions: storage, agents };
    const { archivedPart } = parts;
    const reading = { tasks, sponsors, ledger, archivedPart, clock, sharedTime: clockWatch, digest: sha256, log };
    const ending = { decisions: storage, tasks, sharedTime: clockWatch };
    return {
      ...access,
      issuer,
      knows: rules.knows,
      register: (draft) => registerAgent(service, draft),
      list: (page) => listAgents({ agents }, page),
      find: (agentId) => agents.find(agentId),
      update: (agentId, patch) => updateAgent({ ...service, retryPause }, agentId, patch),
      remove: (agentId) => removeAgent({ decisions: storage, clock }, agentId),
      stop: (selection) => stopTasks(ending, selection),
      stopEverything: () => stopEverything({ ...ending, monotonic: () => performance.now() }),
      findBlocks: (sponsorKey) => sponsors.findBlocks(sponsorKey),
      usersInTheWay: async (sponsorKey) => usersInTheWay(await provisionedUsers.ofPerson(sponsorKey)),
      block: (sponsorKey) => blockSponsor(ending, sponsorKey),
      unblock: (sponsorKey) => unblockSponsor({ ...ending, clock, twoPersons: named?.twoPersons }, sponsorKey),
      listActs: (question) => listActs({ ...reading, operatorActs: storage.operatorActs }, question),
      listTasks: (question) => listTasks(reading, question),
      showTask: (taskId) => showTask(reading, taskId),
      taskTree: settings['Service:Delegation:Enabled'] ? (question) => taskTree(reading, question) : undefined,
      presentsPurposes: settings['Service:Tasks:Purpose'] !== 'off',
      presentsAuthorizations: authorizeChoice(settings) !== undefined,
      listBlocks: (question) => listBlocks(reading, question),
      log,
    };
  });
}

/** A surface of operators: with `explain`, the decisions of a request record who asked for them. */
function actedOn<Surface extends object>(
  storage: Storage,
  explain: NonNullable<Parts['operators']>['explain'] | undefined,
  make: (storage: Storage) => Surface,
): ActedOn<Surface> {
  if (explain === undefined) return make(storage);
  return {
    ...make(storage),
    acting(act) {
      const explained = explain(storage, act);
      return { ...make(explained.storage), settle: explained.settle };
    },
  };
}

function audit(parts: Parts, access: Access): HttpSurfaces['audit'] {
  const { sealedTrees: trees, transparencyLog, recordStream: stream, anonymousDenials: anonymous, clock, log } = parts;
  const { archivedPart } = parts;
  const { ledger, checkpoints, transparencyLog: stored } = parts.storage;
  return {
    ...access,
    query: (question) => queryLedger({ ledger, archivedPart, clock, digest: sha256 }, question),
    checkpoints: (question) => listCheckpoints({ checkpoints }, question),
    prove: (seq, memory) => proveRecord({ checkpoints, trees, archivedPart, hash: sha256Bytes }, seq, memory),
    proveInLog: transparencyLog && ((checkpoint) => transparencyLog.prove(stored, checkpoint)),
    streaming: stream && {
      stream,
      clock,
      refuseFull: async (trace) => anonymous.record({ event: 'admin.denied', reason: 'overloaded' }, trace),
    },
    log,
  };
}

/** Requests share the read of a list. Its span is in the trace of the first of them. */
function statusLists({ settings, storage, signingKeys, clock, measurements }: Parts): StatusListSurface | undefined {
  if (!settings['Service:StatusLists:Enabled']) return undefined;
  const issuer = settings['Service:Issuer'];
  const ttl = settings['Service:StatusLists:Ttl'];
  const stored = { statusLists: storage.statusLists, clock, ttl, monotonic: () => performance.now() };
  return {
    find: publishedStatusLists({
      ...stored,
      issuer,
      signingKeys,
      entries: settings['Service:StatusLists:Entries'],
      measurements,
      deflate: zlibDeflate,
      hash: sha256Bytes,
    }),
    list: publishedListIds(stored),
    issuer,
    ttl,
  };
}

/** The service listens only after its key is loaded, so this check always passes. It only informs the operator. */
function signingKeyReadiness(signingKeys: SigningKeys): ReadinessCheck {
  return {
    name: 'signing_key',
    check: async () =>
      signingKeys.published().keys.length > 0
        ? { status: 'Healthy', detail: 'The signing key is loaded.' }
        : { status: 'Unhealthy', detail: 'No signing key is loaded.' },
  };
}

const CONTINUED = 'The checkpoints continue those that this process saw.';

/** The service decides and records without sealing, so the check never makes it `Unhealthy`. */
function sealingReadiness(chain: TrustedChain): ReadinessCheck {
  return {
    name: 'sealing',
    async check() {
      const { known, distrust, twice } = chain.state();
      if (distrust !== undefined)
        return { status: 'Degraded', detail: `Nothing is sealed. ${distrust} ${BEFORE_A_RESTART}` };
      if (twice !== undefined) {
        const sentence = describeUsedTwice(twice);
        return { status: 'Degraded', detail: twice.isSealed ? sentence : `Nothing is sealed. ${sentence}` };
      }
      const detail = known === undefined ? 'This process has seen no checkpoint yet.' : CONTINUED;
      return { status: 'Healthy', detail };
    },
  };
}

const BEFORE_A_RESTART = 'Do not restart before you know the cause: docs/operating.md, "Sealing stopped".';

/** The limits of admission control, from the settings (specification "Rate limiting", "Overload"). */
export function admissionLimits(settings: Settings): Pick<AdmissionControl, 'rates' | 'limiters'> {
  return {
    rates: settings['Service:RateLimit:Enabled'] ? rateLimitRules(settings) : undefined,
    limiters: settings['Service:Overload:Enabled']
      ? workLimiters({
          concurrency: settings['Service:Overload:ConcurrencyLimit'],
          queue: settings['Service:Overload:QueueLimit'],
          waitMs: settings['Service:Overload:QueueTimeout'] * 1000,
        })
      : undefined,
  };
}

function rateLimitRules(settings: SettingsSection<'Service:RateLimit'>): RateLimitRules {
  return {
    main: {
      permitsPerMinute: settings['Service:RateLimit:PermitsPerMinute'],
      burst: settings['Service:RateLimit:Burst'],
    },
    introspection: {
      permitsPerMinute: settings['Service:RateLimit:Introspection:PermitsPerMinute'],
      burst: settings['Service:RateLimit:Introspection:Burst'],
    },
    signals: {
      permitsPerMinute: settings['Service:RateLimit:Signals:PermitsPerMinute'],
      burst: settings['Service:RateLimit:Signals:Burst'],
    },
    trustedProxies: settings['Service:RateLimit:TrustedProxies'] ?? [],
  };
}
