import { expect } from 'chai';
import { assertionQuestions } from '../../../application/decisions/assertion.ts';
import { type Renewal, renewGrant } from '../../../application/decisions/renew-grant.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { anAssertion, anOpening, aRenewal, withClientAssertion } from '../../contract/storage-fixtures.ts';
import { aStatedBlock, lockNames } from '../../support/decision-fixtures.ts';
import { agentIdOf, anAgent, NOON } from '../../support/domain-fixtures.ts';

const agent = anAgent();
const { agentId } = agent;
const opening = anOpening(agent);
const renewal: Renewal = aRenewal(opening, {
  grantScope: ['jira:read', 'jira:comment'],
  scope: ['jira:read'],
  assertion: withClientAssertion(anAssertion(agentId, 'one'), { ...anAssertion(agentId, 'two'), forgetAt: NOON }),
});
const { sponsorKey, grantHash, assertion, entry } = renewal;
const grant = {
  taskId: renewal.taskId,
  scope: ['jira:read', 'jira:comment'],
  renewals: 3,
  unrecorded: 2,
  revokedAt: undefined,
};
const clear = {
  revision: agent.revision,
  spent: [false, false],
  blocks: [],
  ancestorRevisions: [],
  ancestorTasks: [],
  grant,
};

describe('Renewing a grant', () => {
  for (const [title, recordEach, renewals, unrecorded, isRecorded] of [
    ['records the first renewal', false, 0, 0, true],
    ['only counts a later renewal', false, 1, 0, false],
    ['only counts a renewal after renewals without a record', false, 3, 2, false],
    ['records the first renewal where each has a record', true, 0, 0, true],
    ['records a later renewal where each has a record, and keeps the count of those without', true, 3, 2, true],
  ] as const) {
    it(`${title}, marks both assertions as used and stores the new scope`, () => {
      const facts = { ...clear, grant: { ...grant, renewals, unrecorded } };
      expect(renewGrant.judge({ ...renewal, recordEach }, facts)).to.deep.equal({
        verdict: { kind: 'renewed' },
        effects: [
          { effect: 'spend_assertion', agentId, jti: 'one', forgetAt: assertion?.forgetAt },
          { effect: 'spend_assertion', agentId, jti: 'two', forgetAt: NOON },
          {
            effect: 'update_grant',
            grantHash,
            scope: ['jira:read'],
            renewals: renewals + 1,
            unrecorded: isRecorded ? unrecorded : unrecorded + 1,
            renewedAt: entry.at,
          },
          ...(isRecorded ? [{ effect: 'append', entries: [entry] }] : []),
        ],
      });
    });
  }

  const block = aStatedBlock({ kind: 'disabled' });
  for (const [title, changes, verdict] of [
    ['a changed agent', { revision: agent.revision + 1 }, { kind: 'agent_changed' }],
    ['a deleted agent, even on a replay', { revision: undefined, spent: [true, true] }, { kind: 'agent_changed' }],
    ['a replayed assertion', { spent: [true, false] }, { kind: 'replayed' }],
    [
      'a replayed client assertion, even of a blocked person',
      { spent: [false, true], blocks: [block] },
      { kind: 'replayed' },
    ],
    [
      'a blocked person, even for a grant that is gone',
      { blocks: [block, aStatedBlock({ source: 'scim' })], grant: undefined },
      { kind: 'sponsor_blocked', block: 'disabled' },
    ],
    ['a grant that is gone', { grant: undefined }, { kind: 'grant_changed' }],
    [
      'a grant of another task',
      { grant: { ...grant, taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA') } },
      { kind: 'grant_changed' },
    ],
    ['a grant that was revoked with its task', { grant: { ...grant, revokedAt: NOON } }, { kind: 'grant_changed' }],
    ['a grant that another refresh narrowed', { grant: { ...grant, scope: ['jira:read'] } }, { kind: 'grant_changed' }],
    [
      'a grant whose scopes are in another order',
      { grant: { ...grant, scope: ['jira:comment', 'jira:read'] } },
      { kind: 'grant_changed' },
    ],
  ] as const) {
    it(`writes nothing for ${title}: ${verdict.kind}`, () => {
      expect(renewGrant.judge(renewal, { ...clear, ...changes })).to.deep.equal({ verdict, effects: [] });
    });
  }

  it('reads the agent, the assertions, the blocks of the person and the grant', () => {
    expect(renewGrant.asks(renewal)).to.deep.equal({
      revision: { fact: 'agent_revision', about: agentId },
      spent: assertionQuestions(renewal.assertion),
      blocks: { fact: 'blocks', about: sponsorKey },
      grant: { fact: 'grant', about: grantHash },
      ancestorRevisions: [],
      ancestorTasks: [],
    });
  });

  it('shares the locks of the person and the agent, and locks its assertions and the row of the grant exclusively', () => {
    expect(lockNames(renewGrant.locks(renewal))).to.deep.equal([
      `shared sponsor ${sponsorKey}`,
      `shared agent ${agentId}`,
      `exclusive assertion ${agentId} one`,
      `exclusive assertion ${agentId} two`,
      `exclusive grant ${grantHash}`,
    ]);
  });

  it('shares the locks of the tasks above, and of their agents and grants: of its own agent once', () => {
    const taskId = makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA');
    const ancestor = { taskId, grantHash: 'above', agentRevision: 1 };
    const alone = lockNames(renewGrant.locks(renewal));
    const above = (id: typeof agentId) =>
      lockNames(renewGrant.locks({ ...renewal, ancestors: [{ ...ancestor, agentId: id }] })).filter(
        (each) => !alone.includes(each),
      );
    const shared = [`shared task ${taskId}`, 'shared grant above'];
    expect(above(agentId)).to.deep.equal(shared);
    expect(above(agentIdOf('jira-root'))).to.deep.equal(['shared agent jira-root', ...shared]);
  });

  describe('of a delegated task', () => {
    const above = { taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA'), agentId: agentIdOf('jira-root') };
    const ancestor = { ...above, grantHash: 'above', agentRevision: 7 };
    const live = { state: 'live', expiresAt: plusSeconds(entry.at, 1), scope: ['jira:comment', 'jira:read'] };
    const held = { ...clear, ancestorRevisions: [7], ancestorTasks: [live] };
    const judge = (changes: object = {}) =>
      renewGrant.judge({ ...renewal, ancestors: [ancestor] }, { ...held, ...changes } as typeof held);

    it('renews it while the task above has the scope', () => {
      expect(judge().verdict).to.deep.equal({ kind: 'renewed' });
    });

    for (const [kind, title, changes] of [
      ['agent_changed', 'the agent above changed', { ancestorRevisions: [8] }],
      ['agent_changed', 'the agent above was removed', { ancestorRevisions: [undefined] }],
      ['parent_ended', 'the task above is not stored', { ancestorTasks: [undefined] }],
      ['parent_ended', 'the task above was revoked', { ancestorTasks: [{ ...live, state: 'revoked' }] }],
      ['parent_ended', 'the task above expires now', { ancestorTasks: [{ ...live, expiresAt: entry.at }] }],
      ['narrowed', 'the task above was narrowed', { ancestorTasks: [{ ...live, scope: ['jira:comment'] }] }],
    ] as const) {
      it(`writes nothing if ${title}: ${kind}`, () => {
        expect(judge(changes)).to.deep.equal({ verdict: { kind }, effects: [] });
      });
    }
  });

  describe('that rotates', () => {
    const rotation = { current: 'newest', previous: 'before' };
    const rotating = { ...clear, grant: { ...grant, rotation } };
    const presented = (hash: string): Renewal => ({ ...renewal, rotation: { presented: hash, next: 'next' } });

    it('stores the next rotation beside the renewal', () => {
      for (const hash of ['newest', 'before']) {
        const { verdict, effects } = renewGrant.judge(presented(hash), rotating);
        expect(verdict).to.deep.equal({ kind: 'renewed' });
        const rotated = { effect: 'rotate_grant', grantHash, current: 'next', previous: hash };
        expect(effects.filter(({ effect }) => effect === 'rotate_grant')).to.deep.equal([rotated]);
      }
    });

    it('is superseded if an older one was presented, or none', () => {
      const superseded = { verdict: { kind: 'superseded' }, effects: [] };
      expect(renewGrant.judge(presented('older'), rotating)).to.deep.equal(superseded);
      expect(renewGrant.judge(renewal, rotating)).to.deep.equal(superseded);
    });

    it('rotates nothing if the refresh is refused', () => {
      const facts = { ...rotating, grant: { ...rotating.grant, revokedAt: NOON } };
      expect(renewGrant.judge(presented('newest'), facts)).to.deep.equal({
        verdict: { kind: 'grant_changed' },
        effects: [],
      });
    });
  });
});
