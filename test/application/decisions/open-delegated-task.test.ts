import { expect } from 'chai';
import { assertionQuestions } from '../../../application/decisions/assertion.ts';
import { openTask, type TaskOpening } from '../../../application/decisions/open-task.ts';
import { instantFromMicros } from '../../../domain/instant.ts';
import { aChildOpening, anAssertion, anOpening } from '../../contract/storage-fixtures.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { agentIdOf, anAgent, NOON } from '../../support/domain-fixtures.ts';

const CREATED = instantFromMicros(NOON + 7);
const [root, lead, agent] = ['jira-root', 'jira-lead', 'jira-triage'].map((id, nth) =>
  anAgent({ agentId: agentIdOf(id), revision: 4 + nth }),
) as [ReturnType<typeof anAgent>, ReturnType<typeof anAgent>, ReturnType<typeof anAgent>];
const top = anOpening(root, { scope: ['jira:read'] });
const parent = aChildOpening(lead, top, { scope: ['jira:read'] });
const opening: TaskOpening = {
  ...aChildOpening(agent, parent, { scope: ['jira:read'], sessionId: undefined, createdAt: CREATED }),
  assertion: anAssertion(agent.agentId, 'one'),
};
const { task, delegation, assertion } = opening;
if (delegation === undefined) throw new Error('no task delegates this one');
const { offer } = delegation;
const offerUse = { agentId: lead.agentId, jti: offer.offerId };

const live = { state: 'live', expiresAt: instantFromMicros(CREATED + 1), scope: ['jira:read', 'jira:comment'] };
const clear = {
  revision: agent.revision,
  spent: [false],
  blocks: [],
  logouts: [],
  ancestorRevisions: [lead.revision, root.revision],
  ancestorTasks: [live, live],
  offerSpent: false,
  children: 999,
  isRefused: false,
};

describe('Opening a delegated task', () => {
  it('spends the offer, and appends its record after that of the token', () => {
    expect(openTask.judge(opening, clear)).to.deep.equal({
      verdict: { kind: 'opened' },
      effects: [
        { effect: 'spend_assertion', agentId: agent.agentId, jti: 'one', forgetAt: assertion?.forgetAt },
        { effect: 'spend_assertion', ...offerUse, forgetAt: offer.forgetAt },
        { effect: 'insert_task', task, grantHash: opening.grantHash },
        { effect: 'append', entries: [opening.entry, delegation.entry] },
      ],
    });
  });

  for (const [title, kind, changes] of [
    ['whose offer was used before', 'offer_spent', { offerSpent: true }],
    ['whose parent is not stored', 'parent_ended', { ancestorTasks: [undefined, live] }],
    ['whose parent was revoked', 'parent_ended', { ancestorTasks: [{ ...live, state: 'revoked' }, live] }],
    ['whose parent has a recorded expiry', 'parent_ended', { ancestorTasks: [{ ...live, state: 'expired' }, live] }],
    ['whose parent expires as it begins', 'parent_ended', { ancestorTasks: [{ ...live, expiresAt: CREATED }, live] }],
    ['below a task that was revoked', 'parent_ended', { ancestorTasks: [live, { ...live, state: 'revoked' }] }],
    ['whose parent has less scope', 'narrowed', { ancestorTasks: [{ ...live, scope: ['jira:comment'] }, live] }],
    ['below a task with less scope', 'narrowed', { ancestorTasks: [live, { ...live, scope: ['jira:comment'] }] }],
    ['whose parent’s agent changed', 'agent_changed', { ancestorRevisions: [lead.revision + 1, root.revision] }],
    ['below an agent that was removed', 'agent_changed', { ancestorRevisions: [lead.revision, undefined] }],
    ['whose person does not let the agent delegate', 'delegation_refused', { isRefused: true }],
    ['whose parent has as many as it may', 'too_many_children', { children: 1000 }],
  ] as const) {
    it(`writes nothing for a task ${title}: ${kind}`, () => {
      expect(openTask.judge(opening, { ...clear, ...changes })).to.deep.equal({ verdict: { kind }, effects: [] });
    });
  }

  it('writes nothing if the assertion has the name of the offer: one row cannot spend both', () => {
    const client = { jti: offer.offerId, forgetAt: offer.forgetAt };
    for (const alike of [
      anAssertion(lead.agentId, offer.offerId),
      { ...anAssertion(lead.agentId, 'one'), clientAssertion: client },
    ]) {
      const { verdict, effects } = openTask.judge({ ...opening, assertion: alike }, clear);
      expect([verdict, effects]).to.deep.equal([{ kind: 'offer_spent' }, []]);
    }
    const another = anAssertion(agent.agentId, offer.offerId);
    expect(openTask.judge({ ...opening, assertion: another }, clear).verdict).to.deep.equal({ kind: 'opened' });
  });

  it('writes nothing for a task with delegators and no offer', () => {
    expect(openTask.judge({ ...opening, delegation: undefined }, clear).verdict).to.deep.equal({
      kind: 'parent_ended',
    });
  });

  it('reads the tasks above, their agents, the offer, the children of the parent, and the refusal of the person', () => {
    expect(openTask.asks(opening)).to.deep.include({
      ancestorRevisions: [lead, root].map(({ agentId }) => ({ fact: 'agent_revision', about: agentId })),
      ancestorTasks: [parent, top].map(({ task: { taskId } }) => ({ fact: 'delegating_task', about: taskId })),
      offerSpent: assertionQuestions({ ...offerUse, ...offer })[0],
      children: { fact: 'live_children', about: { taskId: parent.task.taskId, at: CREATED } },
      isRefused: { fact: 'delegation_refused', about: { sponsorKey: task.sponsorKey, agentId: lead.agentId } },
    });
  });

  it('shares the locks of what is above, and takes the parent’s row and the offer alone', () => {
    expect(lockNames(openTask.locks(opening))).to.include.members([
      `shared agent ${lead.agentId}`,
      `shared agent ${root.agentId}`,
      `exclusive assertion ${lead.agentId} ${offer.offerId}`,
      `exclusive task ${parent.task.taskId}`,
      `shared task ${top.task.taskId}`,
      `shared grant ${parent.grantHash}`,
      `shared grant ${top.grantHash}`,
    ]);
  });
});
