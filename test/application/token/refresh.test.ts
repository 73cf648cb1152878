/** Tests each check of a refresh alone, without a database or HTTP. */

import { expect } from 'chai';
import { agentKeys } from '../../../adapters/jose/agent-keys.ts';
import { strangersWait } from '../../../adapters/jose/key-waits.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { sha256 } from '../../../adapters/platform/system-crypto.ts';
import type { Renewal } from '../../../application/decisions/renew-grant.ts';
import type { Decisions } from '../../../application/ports/decisions.ts';
import type { SponsorStatus } from '../../../application/ports/identity-provider.ts';
import type { ChainedTask, Tasks } from '../../../application/ports/tasks.ts';
import type { DelegationRules } from '../../../application/token/chain.ts';
import { type RefreshRequest, refreshToken } from '../../../application/token/refresh.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { type Instant, plusSeconds, toSeconds } from '../../../domain/instant.ts';
import type { SponsorBlock } from '../../../domain/sponsors/block.ts';
import type { Grant } from '../../../domain/tasks/task.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { type AgentKey, makeAgentKey } from '../../support/agents/agent-key.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { aDelegator, aGrant, agentIdOf, anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';
import { newKeys } from '../../support/ledger-fixture.ts';
import { agreeing, movedClock } from '../../support/moved-clock.ts';

const ISSUER = 'https://mandate.example';
const ULID = '01M31S7W68TMK7WDX8YKPSYTEZ';
const GRANT = 'task_grant_a-secret';
const CACHE_TTL = 30;

describe('the checks of a refresh', () => {
  let key: AgentKey;
  let signingKeys: Awaited<ReturnType<typeof newKeys>>;
  let agent: Agent;
  let grant: Grant | undefined;
  let block: SponsorBlock | undefined;
  let now: Instant;
  /** The provider's answer to each query, and the accepted ages of cached answers. */
  let status: (maxAge: number) => SponsorStatus;
  let ages: number[];
  let renewals: Renewal[];
  /** The tasks above, with the agent of all of them. */
  let above: readonly ChainedTask[];
  let lead: Agent | undefined;
  let delegation: DelegationRules | undefined;
  let revision = 0;
  before(async () => {
    [key, signingKeys] = await Promise.all([makeAgentKey(), newKeys()]);
  });
  beforeEach(() => {
    revision += 1;
    agent = anAgent({ keys: { kind: 'inline', jwks: key.jwks as never }, revision });
    grant = aGrant({ task: aTask({ createdAt: NOON }) });
    block = undefined;
    now = plusSeconds(NOON, 100);
    status = () => 'active';
    ages = [];
    renewals = [];
    above = [];
    lead = undefined;
    delegation = undefined;
  });

  const keys = agentKeys(httpNetwork(), movedClock(), capturedLog()).at(strangersWait());

  async function refresh(changes: Partial<RefreshRequest> = {}) {
    const seconds = toSeconds(now);
    const claims = { aud: ISSUER, jti: 'a-jti', iat: seconds, exp: seconds + 60 };
    const tasks: Pick<Tasks, 'findGrant' | 'chain'> = {
      chain: async () => above,
      async findGrant(agentId, grantHash) {
        expect([agentId, grantHash]).to.deep.equal([agent.agentId, sha256(GRANT)]);
        return grant;
      },
    };
    const decisions: Decisions = {
      async decide(_decision, input) {
        renewals.push(input as Renewal);
        return { kind: 'renewed' } as never;
      },
    };
    return refreshToken(
      {
        agentCache: () => ({ find: async () => agent, confirm: async () => true, forget: () => undefined }),
        agentKeys: keys,
        clock: { now: () => now },
        sharedTime: agreeing({ now: () => now }),
        audiences: [ISSUER],
        sponsors: { findBlocks: async () => (block === undefined ? [] : [block]) } as never,
        directory: {
          async status(subject, maxAge) {
            expect(subject).to.equal('ada');
            ages.push(maxAge);
            return status(maxAge);
          },
        },
        signingKeys,
        randomness: { ulid: () => ULID, secret: () => 'unused', draws: () => [] },
        statusLists: undefined,
        issuer: ISSUER,
        decisions,
        tasks,
        digest: sha256,
        sponsorCacheTtl: CACHE_TTL,
        recordEach: false,
        delegation,
        agents: { find: async () => lead },
      },
      {
        refreshToken: GRANT,
        resource: 'https://jira.example',
        scope: undefined,
        clientAssertion: key.signAssertion(agent.agentId, claims),
        clientId: undefined,
        ...changes,
      },
    );
  }

  /** Expects a refusal that names the task and renews nothing. Returns its reason. */
  async function reasonOf(changes: Partial<RefreshRequest> = {}): Promise<string> {
    const outcome = await refresh(changes);
    if (outcome.kind === 'allowed') throw new Error('it was renewed');
    expect(renewals).to.deep.equal([]);
    const { reason, about, assertion } = outcome.denial;
    expect(assertion).to.include({ jti: 'a-jti' });
    expect(about?.agentId).to.equal(agent.agentId);
    if (grant !== undefined) expect(about).to.include({ taskId: grant.task.taskId, sponsor: 'ada' });
    return reason;
  }

  it('pass for the scope of the grant, or a part of it', async () => {
    grant = aGrant({ scope: ['jira:read', 'jira:comment'], task: aTask() });
    for (const [scope, expected] of [
      [undefined, ['jira:read', 'jira:comment']],
      [['jira:comment'], ['jira:comment']],
    ] as const) {
      const outcome = await refresh({ scope });
      if (outcome.kind === 'denied') throw new Error(outcome.denial.reason);
      expect(outcome.value).to.deep.include({ scope: expected, refreshToken: GRANT, taskId: grant.task.taskId });
      expect(readCompactJws(outcome.value.accessToken)?.claims.json.scope).to.equal(expected.join(' '));
      expect(renewals.at(-1)).to.deep.include({
        scope: expected,
        grantScope: grant.scope,
        grantHash: sha256(GRANT),
        agentRevision: agent.revision,
      });
    }
  });

  it('begin with the grant and then its task, whatever else fails', async () => {
    const wrong = { resource: 'https://other.example', scope: ['jira:admin'] };
    status = () => 'sponsor_disabled';
    grant = undefined;
    expect(await reasonOf(wrong)).to.equal('grant_not_found');
    const unknown = await refresh();
    expect(unknown).to.have.nested.property('denial.unknownGrant', sha256(GRANT));
    grant = aGrant({ taskState: { kind: 'revoked', at: NOON, reason: 'operator_kill_switch' } });
    expect(await reasonOf(wrong)).to.equal('task_revoked');
    grant = aGrant({ taskState: { kind: 'expired' } as never });
    expect(await reasonOf(wrong)).to.equal('task_expired');
    grant = aGrant();
    now = grant.task.expiresAt;
    expect(await reasonOf(wrong)).to.equal('task_expired');
    now = plusSeconds(grant.task.expiresAt, -4);
    expect(await reasonOf(wrong)).to.equal('task_ending');
    grant = aGrant({ revokedAt: NOON });
    now = plusSeconds(NOON, 100);
    expect(await reasonOf(wrong)).to.equal('grant_revoked');
    expect(ages, 'the provider is asked about no task that is over').to.deep.equal([]);
  });

  it('check the person before the requested audience and scope', async () => {
    const wrong = { resource: 'https://other.example', scope: ['jira:admin'] };
    for (const refused of ['sponsor_disabled', 'sponsor_not_found', 'sponsor_status_unavailable'] as const) {
      status = () => refused;
      expect(await reasonOf(wrong)).to.equal(refused);
    }
    ages = [];
    block = { sponsorKey: aTask().sponsorKey, source: 'scim', kind: 'deleted', blockedAt: NOON };
    expect(await reasonOf(wrong)).to.equal('sponsor_not_found');
    expect(ages, 'the provider is not asked about who is blocked').to.deep.equal([]);
  });

  it('accept no cached answer older than the lifetime of the cache, of the next token or of the task', async () => {
    const task = aTask({ createdAt: NOON });
    grant = aGrant({ task });
    for (const [seconds, maxTokenTtl, expected] of [
      [100, 300, CACHE_TTL],
      [100, 20, 20],
      [7, 300, 7],
      [0, 300, 0],
      [-3, 300, 0],
    ] as const) {
      now = plusSeconds(NOON, seconds);
      agent = { ...agent, maxTokenTtl };
      await refresh();
      expect(Math.floor(ages.at(-1) ?? Number.NaN), `${seconds} s, ${maxTokenTtl} s`).to.equal(expected);
    }
    now = plusSeconds(task.expiresAt, -12);
    await refresh();
    expect(Math.floor(ages.at(-1) ?? Number.NaN)).to.equal(12);
  });

  for (const [reason, left] of [
    ['task_expired', 0],
    ['task_ending', 4],
  ] as const) {
    it(`detect that the task ended during the query to the provider: ${reason}`, async () => {
      const task = aTask();
      grant = aGrant({ task });
      status = () => {
        now = plusSeconds(task.expiresAt, -left);
        return 'active';
      };
      expect(await reasonOf()).to.equal(reason);
    });
  }

  it('refuse an audience other than that of the task, even if the agent may have it', async () => {
    expect(await reasonOf({ resource: 'https://wiki.example' })).to.equal('audience_mismatch');
    expect(await reasonOf({ resource: 'https://jira.example/' })).to.equal('audience_mismatch');
  });

  it('take the audience of the task for that of a request without one, also in the record of a refusal', async () => {
    const audience = aTask().audience;
    const renewed = await refresh({ resource: undefined });
    if (renewed.kind === 'denied') throw new Error(renewed.denial.reason);
    expect(readCompactJws(renewed.value.accessToken)?.claims.json.aud).to.equal(audience);
    const refused = await refresh({ resource: undefined, scope: ['jira:admin'] });
    expect(refused).to.have.nested.include({ 'denial.reason': 'scope_widened', 'denial.about.audience': audience });
    // Before the grant is found, the service knows no task.
    grant = undefined;
    const unknown = await refresh({ resource: undefined });
    expect(unknown).to.have.nested.include({
      'denial.reason': 'grant_not_found',
      'denial.about.audience': undefined,
    });
  });

  it('refuse a scope beyond that of the grant, even if the task or the registration has it', async () => {
    grant = aGrant({ scope: ['jira:read'], task: aTask({ scope: ['jira:read', 'jira:comment'] }) });
    for (const scope of [['jira:comment'], ['jira:read', 'jira:comment'], ['jira:read', 'jira:admin']]) {
      expect(await reasonOf({ scope })).to.equal('scope_widened');
    }
  });

  it('apply the current registration of the agent', async () => {
    agent = { ...agent, allowedScopes: ['calendar:read'] };
    expect(await reasonOf()).to.equal('scope_intersection_empty');
    agent = { ...agent, allowedScopes: ['jira:read'], allowedAudiences: ['https://wiki.example'] };
    expect(await reasonOf()).to.equal('audience_not_allowed');
    agent = { ...agent, allowedAudiences: ['https://jira.example'], maxDelegationDepth: 0 };
    expect(await reasonOf()).to.equal('delegation_depth_exceeded');
    agent = { ...agent, maxDelegationDepth: 1, allowedScopes: ['jira:comment', 'jira:read'] };
    grant = aGrant({ scope: ['jira:read'] });
    const outcome = await refresh();
    expect(outcome.kind === 'allowed' && outcome.value.scope).to.deep.equal(['jira:read']);
  });

  it('refuse a disabled agent before they read the grant', async () => {
    agent = { ...agent, enabled: false };
    grant = undefined;
    expect(await reasonOf()).to.equal('agent_disabled');
  });

  describe('of a delegated task', () => {
    const parent = aTask({ taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA'), agentId: agentIdOf('jira-lead') });
    const task = aTask({ createdAt: NOON, delegatedBy: [aDelegator(parent.taskId)], delegationDepth: 2 });
    const ancestor: ChainedTask = {
      task: parent,
      state: { kind: 'live' },
      scope: ['jira:comment'],
      grantHash: 'above',
      agentEnabled: true,
    };
    beforeEach(() => {
      agent = { ...agent, allowedScopes: ['jira:comment'], maxDelegationDepth: 2, highRiskAudiences: [] };
      lead = anAgent({
        agentId: parent.agentId,
        delegatesTo: [agent.agentId],
        allowedScopes: ['jira:comment', 'jira:read'],
        maxDelegationDepth: 2,
        highRiskAudiences: [task.audience],
        revision: 9,
      });
      delegation = { maxDepth: 2, maxChildrenPerTask: 20, offerTtl: 60 };
      grant = aGrant({ task, scope: task.scope });
      above = [ancestor];
    });

    it('grant what the tasks above have now, with what their agents require, and name what was checked', async () => {
      const outcome = await refresh();
      if (outcome.kind === 'denied') throw new Error(outcome.denial.reason);
      const { json } = readCompactJws(outcome.value.accessToken)?.claims ?? {};
      expect(json).to.include({ scope: 'jira:comment', introspect_required: true });
      const { taskId, agentId } = parent;
      expect(renewals.at(-1)).to.deep.include({
        scope: ['jira:comment'],
        ancestors: [{ taskId, agentId, grantHash: 'above', agentRevision: 9 }],
      });
    });

    it('refuse it if a task above is not stored, has ended, or its agent may not delegate any more', async () => {
      above = [];
      expect(await reasonOf()).to.equal('parent_ended');
      const other = aTask({ ...parent, taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEB') });
      for (const another of [[ancestor, ancestor], [{ ...ancestor, task: other }]]) {
        above = another;
        expect(await reasonOf(), 'another chain than that of the task').to.equal('parent_ended');
      }
      above = [{ ...ancestor, state: { kind: 'expired', at: NOON } }];
      expect(await reasonOf()).to.equal('parent_ended');
      above = [ancestor];
      delegation = { maxDepth: 1, maxChildrenPerTask: 20, offerTtl: 60 };
      expect(await reasonOf()).to.equal('delegation_depth_exceeded');
      delegation = undefined;
      expect(await reasonOf(), 'the setting is off').to.equal('delegation_not_allowed');
    });
  });
});
