/** The use cases bound to their ports, as the HTTP surface asks for them. */

import type { DependencyContainer } from 'tsyringe';
import type { HttpSurfaces } from '../adapters/http/app.ts';
import { TOKEN_PATH } from '../adapters/http/discovery.ts';
import type { ScimSurface } from '../adapters/http/scim/scim-router.ts';
import { providerKeysReadiness } from '../adapters/jose/provider-keys-readiness.ts';
import { retryPause } from '../adapters/system/retry-pause.ts';
import { sha256, sha256Bytes } from '../adapters/system/sha256.ts';
import { blockSponsor } from '../application/admin/block-sponsor.ts';
import { listAgents } from '../application/admin/list-agents.ts';
import { type AdminDenialReason, refuseAdmin } from '../application/admin/refuse-admin.ts';
import { registerAgent } from '../application/admin/register-agent.ts';
import { removeAgent } from '../application/admin/remove-agent.ts';
import { stopTasks } from '../application/admin/stop-tasks.ts';
import { unblockSponsor } from '../application/admin/unblock-sponsor.ts';
import { updateAgent } from '../application/admin/update-agent.ts';
import { agentCache } from '../application/authentication/agent-cache.ts';
import { listCheckpoints } from '../application/ledger/list-checkpoints.ts';
import { proveRecord } from '../application/ledger/prove.ts';
import { queryLedger } from '../application/ledger/query.ts';
import { recordDenials } from '../application/ledger/record-denial.ts';
import type { SigningKeys } from '../application/ports/keys.ts';
import type { ReadinessCheck } from '../application/ports/readiness.ts';
import { listUsers } from '../application/signals/list-users.ts';
import { createUser, patchUser, removeUser, replaceUser } from '../application/signals/provision-user.ts';
import { refuseProvisioning } from '../application/signals/refuse-provisioning.ts';
import { exchangeToken } from '../application/token/exchange.ts';
import { introspectToken } from '../application/token/introspect.ts';
import { refreshToken } from '../application/token/refresh.ts';
import { revokeToken } from '../application/token/revoke.ts';
import type { LifetimeRules } from '../domain/agents/lifetimes.ts';
import { admissionControl } from './admission-control.ts';
import { chosenProvisioning } from './settings/alternatives.ts';
import type { Settings } from './settings/read-settings.ts';
import { backchannelLogoutSurface, eventsSurface } from './signal-surfaces.ts';
import { tokens } from './tokens.ts';

export function httpSurfaces(c: DependencyContainer): HttpSurfaces {
  const settings = c.resolve(tokens.settings);
  const issuer = settings['Service:Issuer'];
  const storage = c.resolve(tokens.storage);
  const { agents, tasks, sponsors, ledger, checkpoints } = storage;
  const [anonymous, trees] = [c.resolve(tokens.anonymousDenials), c.resolve(tokens.sealedTrees)];
  const [clock, log, randomness] = [c.resolve(tokens.clock), c.resolve(tokens.log), c.resolve(tokens.randomness)];
  const [signingKeys, agentKeys, providerKeys] = [
    c.resolve(tokens.signingKeys),
    c.resolve(tokens.agentKeys),
    c.resolve(tokens.providerKeys),
  ];

  const tokenService = {
    ...{ agents, tasks, sponsors, clock, randomness, signingKeys, agentKeys, providerKeys, issuer },
    agentCache: agentCache(agents),
    directory: c.resolve(tokens.sponsorSources).directory,
    digest: sha256,
    audiences: [issuer, `${issuer}${TOKEN_PATH}`],
    audience: settings['Service:UpstreamIdp:Audience'],
    sponsorKeyClaim: settings['Service:UpstreamIdp:SponsorKeyClaim'],
    refuseLoggedOut: settings['Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut'],
    sponsorCacheTtl: settings['Service:UpstreamIdp:SponsorCheck:CacheTtl'],
    aggregation: settings['Service:Audit:Aggregation:Enabled'],
  };
  const registration = { agents, clock, agentKeys, rules: { lifetimes: lifetimeRules(settings), issuer } };
  const access = {
    apiKey: settings['Service:Admin:ApiKey'],
    refuse: (reason: AdminDenialReason) => refuseAdmin({ anonymous }, reason),
  };

  return {
    admission: admissionControl(c),
    issuer,
    signingKeys,
    log,
    randomness,
    tracing: c.resolve(tokens.tracing),
    measurements: c.resolve(tokens.measurementsOption).measurements,
    oauth: {
      exchange: (request) => exchangeToken(tokenService, request),
      refresh: (request) => refreshToken(tokenService, request),
      introspect: (token) => introspectToken(tokenService, token),
      revoke: (request) => revokeToken(tokenService, request),
      record: recordDenials({ ledger, anonymous, clock }),
      log,
    },
    admin: {
      ...access,
      issuer,
      register: (draft) => registerAgent(registration, draft),
      list: (page) => listAgents({ agents }, page),
      find: (agentId) => agents.find(agentId),
      update: (agentId, patch) => updateAgent({ ...registration, retryPause }, agentId, patch),
      remove: (agentId) => removeAgent({ agents, clock }, agentId),
      stop: (selection) => stopTasks({ tasks, clock }, selection),
      findBlocks: (sponsorKey) => sponsors.findBlocks(sponsorKey),
      block: (sponsorKey) => blockSponsor({ sponsors, clock }, sponsorKey),
      unblock: (sponsorKey) => unblockSponsor({ sponsors, clock }, sponsorKey),
      log,
    },
    audit: {
      ...access,
      query: (question) => queryLedger({ ledger, clock, digest: sha256 }, question),
      checkpoints: (question) => listCheckpoints({ checkpoints }, question),
      prove: (seq) => proveRecord({ checkpoints, trees, hash: sha256Bytes }, seq),
      log,
    },
    agentKeys: { find: (agentId) => agents.find(agentId), log },
    scim: scimSurface(c),
    backchannelLogout: backchannelLogoutSurface(c),
    events: eventsSurface(c),
    readiness: [storage.readiness, signingKeyReadiness(signingKeys), providerKeysReadiness(providerKeys, clock)],
  };
}

function scimSurface(c: DependencyContainer): ScimSurface | undefined {
  const settings = c.resolve(tokens.settings);
  const chosen = chosenProvisioning(settings);
  if (chosen === undefined) return undefined;
  const { credentials, person, maxUsers } = chosen;
  const anonymous = c.resolve(tokens.anonymousDenials);
  const users = c.resolve(tokens.storage).provisionedUsers;
  const [clock, randomness] = [c.resolve(tokens.clock), c.resolve(tokens.randomness)];
  const provisioning = { users, clock, randomness, person, maxUsers };
  return {
    credentials,
    refuse: (reason) => refuseProvisioning({ anonymous }, reason),
    issuer: settings['Service:Issuer'],
    person,
    create: (body) => createUser(provisioning, body),
    find: (userId) => users.find(userId),
    list: (listing) => listUsers(provisioning, listing),
    replace: (userId, body) => replaceUser(provisioning, userId, body),
    patch: (userId, body) => patchUser(provisioning, userId, body),
    remove: (userId) => removeUser(provisioning, userId),
  };
}

function lifetimeRules(settings: Settings): LifetimeRules {
  return {
    defaultTaskTtl: settings['Service:Tokens:DefaultTaskTtl'],
    defaultTokenTtl: settings['Service:Tokens:DefaultTokenTtl'],
    minTaskTtl: settings['Service:Agents:MinTaskTtl'],
    maxTaskTtl: settings['Service:Agents:MaxTaskTtl'],
    minTokenTtl: settings['Service:Agents:MinTokenTtl'],
    maxTokenTtl: settings['Service:Agents:MaxTokenTtl'],
  };
}

/** The service does not listen before its key is loaded; the check says so where an operator looks. */
function signingKeyReadiness(signingKeys: SigningKeys): ReadinessCheck {
  return {
    name: 'signing_key',
    check: async () =>
      signingKeys.published().keys.length > 0
        ? { status: 'Healthy', detail: 'The signing key is loaded.' }
        : { status: 'Unhealthy', detail: 'No signing key is loaded.' },
  };
}
