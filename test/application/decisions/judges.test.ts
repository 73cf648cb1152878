/** The rules of the judges that two concurrent decisions rest on. The contract suite tries the rest on both databases. */

import { expect } from 'chai';
import { openTask } from '../../../application/decisions/open-task.ts';
import { renewGrant } from '../../../application/decisions/renew-grant.ts';
import { anOpening, aRenewal } from '../../contract/scene.ts';
import { anAgent, NOON } from '../../support/domain-fixtures.ts';

const agent = anAgent();
const opening = anOpening(agent);
const clear = { revision: agent.revision, spent: [false], blocks: [], logouts: [], parent: undefined };
const block = {
  ...{ sponsorKey: opening.task.sponsorKey, source: 'scim', kind: 'deleted' },
  blockedAt: NOON,
  statedAt: NOON,
};

describe('The judge of an exchange', () => {
  for (const [title, facts, verdict] of [
    ['opens the task if nothing is in its way', {}, { kind: 'opened' }],
    ['judges again if the agent has changed', { revision: agent.revision + 1 }, { kind: 'agent_changed' }],
    ['judges again if the agent is gone', { revision: undefined, spent: [true] }, { kind: 'agent_changed' }],
    ['names a replay before a block', { spent: [true], blocks: [block] }, { kind: 'replayed' }],
    ['names the kind of the first block', { blocks: [block] }, { kind: 'sponsor_blocked', block: 'deleted' }],
  ] as const) {
    it(title, () => {
      const judgement = openTask.judge(opening, { ...clear, ...facts });
      expect(judgement.verdict).to.deep.equal(verdict);
      expect(judgement.effects.map(({ effect }) => effect)).to.deep.equal(
        verdict.kind === 'opened' ? ['spend_assertion', 'insert_task', 'append'] : [],
      );
    });
  }
});

describe('The judge of a refresh', () => {
  const renewal = aRenewal(opening);
  const grant = {
    ...{ taskId: opening.task.taskId, scope: renewal.grantScope, renewals: 1, unrecorded: 4, revokedAt: undefined },
  };
  const facts = { revision: agent.revision, spent: [false], blocks: [], grant };

  it('counts the renewal, and records the first one', () => {
    expect(renewGrant.judge(renewal, facts).effects.at(-1)).to.deep.include({ renewals: 2, unrecorded: 5 });
    const first = renewGrant.judge(renewal, { ...facts, grant: { ...grant, renewals: 0 } });
    expect(first.effects.slice(-2)).to.deep.equal([
      {
        effect: 'update_grant',
        grantHash: renewal.grantHash,
        scope: renewal.scope,
        renewals: 1,
        unrecorded: 4,
      },
      { effect: 'append', entries: [renewal.entry] },
    ]);
  });

  for (const [title, changed] of [
    ['whose scope another refresh has narrowed', { ...grant, scope: ['jira:read'] }],
    ['that was revoked with its task', { ...grant, revokedAt: NOON }],
    ['of another task', { ...grant, taskId: 'task_01ARZ3NDEKTSV4RRFFQ69G5FAV' }],
    ['that is gone', undefined],
  ] as const) {
    it(`judges again for a grant ${title}, and writes nothing`, () => {
      const judgement = renewGrant.judge(renewal, { ...facts, grant: changed });
      expect(judgement).to.deep.equal({ verdict: { kind: 'grant_changed' }, effects: [] });
    });
  }
});
