/** What an offer is decided on, and what the agent is told of each verdict, without a database or HTTP. */

import { expect } from 'chai';
import { sha256 } from '../../../adapters/platform/system-crypto.ts';
import type { DelegationOffering } from '../../../application/decisions/offer-delegation.ts';
import type { ChainedTask } from '../../../application/ports/tasks.ts';
import { handOver } from '../../../application/token/hand-over.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { plusSeconds, toSeconds } from '../../../domain/instant.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import { type AgentKey, makeAgentKey } from '../../support/agents/agent-key.ts';
import { aDelegator, aGrant, agentIdOf, anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';
import { newKeys } from '../../support/ledger-fixture.ts';

const ISSUER = 'https://mandate.example';
const GRANT = 'task_grant_a-secret';
const now = () => plusSeconds(NOON, 100);

const root = anAgent({ agentId: agentIdOf('jira-root'), delegatesTo: [agentIdOf('jira-lead')], revision: 9 });
const lead = anAgent({ agentId: agentIdOf('jira-lead'), delegatesTo: [agentIdOf('wiki-writer')], revision: 5 });
const child = anAgent({ agentId: agentIdOf('wiki-writer') });
const top = aTask({ taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA'), agentId: root.agentId });
const task = aTask({
  agentId: lead.agentId,
  delegatedBy: [aDelegator(top.taskId, { agentId: root.agentId })],
  delegationDepth: 2,
});
const ancestor: ChainedTask = {
  task: top,
  state: { kind: 'live' },
  scope: ['jira:read'],
  grantHash: 'above',
  agentEnabled: true,
};

describe('An offer to another agent', () => {
  let key: AgentKey;
  let signingKeys: Awaited<ReturnType<typeof newKeys>>;
  let decided: DelegationOffering[];
  /** The verdict of each decision in turn; the last one of all further ones. */
  let verdicts: readonly object[];
  before(async () => {
    [key, signingKeys] = await Promise.all([makeAgentKey(), newKeys()]);
  });
  beforeEach(() => {
    decided = [];
    verdicts = [{ kind: 'offered' }];
  });

  function ask() {
    const registered = [root, lead, child];
    const service = {
      agentCache: () => ({ find: async () => lead, confirm: async () => true, forget: () => undefined }),
      agentKeys: { verify: async () => ({ kind: 'verified' }) as const, isUsable: async () => true },
      agents: { find: async (id: string) => registered.find(({ agentId }) => agentId === id) },
      clock: { now },
      sharedTime: { earliest: now, latest: now, undoubted: now },
      audiences: [ISSUER],
      sponsors: { findBlocks: async () => [] },
      directory: undefined,
      signingKeys,
      randomness: { ulid: () => '01M31S7W68TMK7WDX8YKPSYTEB' },
      issuer: ISSUER,
      decisions: {
        async decide(_: unknown, offering: DelegationOffering) {
          decided.push(offering);
          return verdicts[Math.min(decided.length, verdicts.length) - 1];
        },
      },
      tasks: { findGrant: async () => aGrant({ task, scope: task.scope }), chain: async () => [ancestor] },
      digest: sha256,
      sponsorCacheTtl: 30,
      delegation: { maxDepth: 3, maxChildrenPerTask: 20, offerTtl: 60 },
    } as unknown as Parameters<typeof handOver>[0];
    const seconds = toSeconds(now());
    const assertion = { aud: ISSUER, jti: 'a-jti', iat: seconds, exp: seconds + 60 };
    const actorToken = key.signAssertion(lead.agentId, assertion);
    const acting = { actorToken, clientAssertion: undefined, clientId: undefined };
    const asked = { grant: GRANT, child: child.agentId, resource: task.audience, scope: task.scope };
    return handOver(service, { ...acting, ...asked });
  }

  it('is decided on the task, the tasks above and their agents, as they were checked', async () => {
    const outcome = await ask();
    if (outcome.kind === 'denied') throw new Error(outcome.denial.reason);
    expect(outcome.value)
      .to.include({ expiresIn: 60 })
      .and.to.deep.include({ scope: ['jira:read'] });
    const [offering, ...others] = decided;
    expect(others).to.deep.equal([]);
    expect(offering).to.deep.include({
      taskId: task.taskId,
      sponsorKey: task.sponsorKey,
      scope: ['jira:read'],
      ancestors: [
        { taskId: task.taskId, agentId: lead.agentId, grantHash: sha256(GRANT), agentRevision: 5 },
        { taskId: top.taskId, agentId: root.agentId, grantHash: 'above', agentRevision: 9 },
      ],
      maxChildren: 20,
    });
    expect(offering?.assertion).to.include({ jti: 'a-jti' });
    const { jti } = readCompactJws(outcome.value.offer)?.claims.json ?? {};
    expect(offering?.entry).to.include({
      at: now(),
      event: 'delegation.offered',
      scope: 'jira:read',
      delegationDepth: 2,
      detail: `offer=${jti}&child=wiki-writer`,
    });
  });

  for (const [verdict, reason] of [
    [{ kind: 'replayed' }, 'actor_replayed'],
    [{ kind: 'sponsor_blocked', block: 'disabled' }, 'sponsor_disabled'],
    [{ kind: 'delegation_refused' }, 'delegation_refused_by_person'],
    [{ kind: 'too_many_children' }, 'too_many_children'],
  ] as const) {
    it(`is refused with ${reason} if the decision says ${verdict.kind}, and the record names the task`, async () => {
      verdicts = [verdict];
      const outcome = await ask();
      if (outcome.kind === 'allowed') throw new Error('it was offered');
      const { about, assertion, ...denial } = outcome.denial;
      expect([denial.reason, decided.length]).to.deep.equal([reason, 1]);
      expect(assertion).to.include({ jti: 'a-jti' });
      expect(about).to.deep.include({ agentId: lead.agentId, taskId: task.taskId, sponsor: 'ada' });
      expect(about).to.include({ audience: task.audience, scope: 'jira:read jira:comment' });
    });
  }

  for (const kind of ['agent_changed', 'parent_ended', 'narrowed']) {
    it(`is checked again if the decision says ${kind}`, async () => {
      verdicts = [{ kind }, { kind: 'offered' }];
      expect((await ask()).kind).to.equal('allowed');
      expect(decided).to.have.length(2);
    });
  }
});
