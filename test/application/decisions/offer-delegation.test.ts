import { expect } from 'chai';
import { assertionQuestions } from '../../../application/decisions/assertion.ts';
import type { JudgedAncestor } from '../../../application/decisions/delegated.ts';
import { offerDelegation } from '../../../application/decisions/offer-delegation.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import { anAssertion, anEntry } from '../../contract/storage-fixtures.ts';
import { ADA, aStatedBlock, lockNames } from '../../support/decision-fixtures.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

const OFFERED = instantFromMicros(NOON + 7);
const [lead, root] = ['jira-lead', 'jira-root'].map((id, nth): JudgedAncestor => {
  const taskId = makeTaskId(`01M31S7W68TMK7WDX8YKPSYTE${nth}`);
  return { taskId, agentId: agentIdOf(id), grantHash: `grant-${id}`, agentRevision: 4 + nth };
}) as [JudgedAncestor, JudgedAncestor];
const assertion = anAssertion(lead.agentId, 'one');
const offering = {
  taskId: lead.taskId,
  sponsorKey: ADA,
  scope: ['jira:read'],
  ancestors: [lead, root],
  assertion,
  maxChildren: 20,
  entry: anEntry('delegation.offered', { at: OFFERED, taskId: lead.taskId }),
} as const;

const live = { state: 'live', expiresAt: instantFromMicros(OFFERED + 1), scope: ['jira:read', 'jira:comment'] };
const clear = {
  spent: [false],
  blocks: [],
  ancestorRevisions: [lead.agentRevision, root.agentRevision],
  ancestorTasks: [live, live],
  isRefused: false,
  children: 19,
};

describe('Offering a part of a task', () => {
  it('uses up the assertion and appends the record. The offer is not stored', () => {
    expect(offerDelegation.judge(offering, clear)).to.deep.equal({
      verdict: { kind: 'offered' },
      effects: [
        { effect: 'spend_assertion', agentId: lead.agentId, jti: 'one', forgetAt: assertion.forgetAt },
        { effect: 'append', entries: [offering.entry] },
      ],
    });
  });

  for (const [title, verdict, changes] of [
    ['if its agent changed', { kind: 'agent_changed' }, { ancestorRevisions: [5, root.agentRevision] }],
    ['if an agent above changed', { kind: 'agent_changed' }, { ancestorRevisions: [lead.agentRevision, 6] }],
    ['for a replayed assertion', { kind: 'replayed' }, { spent: [true] }],
    [
      'for a blocked person',
      { kind: 'sponsor_blocked', block: 'disabled' },
      { blocks: [aStatedBlock({ kind: 'disabled' })] },
    ],
    ['of a task that was revoked', { kind: 'parent_ended' }, { ancestorTasks: [{ ...live, state: 'revoked' }, live] }],
    [
      'below a task that was revoked',
      { kind: 'parent_ended' },
      { ancestorTasks: [live, { ...live, state: 'revoked' }] },
    ],
    [
      'of a task that expires now',
      { kind: 'parent_ended' },
      { ancestorTasks: [{ ...live, expiresAt: OFFERED }, live] },
    ],
    [
      'of a task that was narrowed',
      { kind: 'narrowed' },
      { ancestorTasks: [{ ...live, scope: ['jira:comment'] }, live] },
    ],
    ['if the person refuses it', { kind: 'delegation_refused' }, { isRefused: true }],
    ['of a task that has as many below it as it may', { kind: 'too_many_children' }, { children: 20 }],
  ] as const) {
    it(`writes nothing ${title}: ${verdict.kind}`, () => {
      expect(offerDelegation.judge(offering, { ...clear, ...changes })).to.deep.equal({ verdict, effects: [] });
    });
  }

  it('reads the person, the tasks above, their agents, the live tasks below, and the refusal of the person', () => {
    expect(offerDelegation.asks(offering)).to.deep.equal({
      spent: assertionQuestions(assertion),
      blocks: { fact: 'blocks', about: ADA },
      isRefused: { fact: 'delegation_refused', about: { sponsorKey: ADA, agentId: lead.agentId } },
      children: { fact: 'live_children', about: { taskId: lead.taskId, at: OFFERED } },
      ancestorRevisions: [lead, root].map(({ agentId }) => ({ fact: 'agent_revision', about: agentId })),
      ancestorTasks: [lead, root].map(({ taskId }) => ({ fact: 'delegating_task', about: taskId })),
    });
  });

  it('shares every lock but that of its assertion: offers take no place', () => {
    expect(lockNames(offerDelegation.locks(offering))).to.have.members([
      `shared sponsor ${ADA}`,
      `exclusive assertion ${lead.agentId} one`,
      ...[lead, root].flatMap(({ agentId, taskId, grantHash }) => [
        `shared agent ${agentId}`,
        `shared task ${taskId}`,
        `shared grant ${grantHash}`,
      ]),
    ]);
  });
});
