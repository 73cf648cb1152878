/** The rules of the judges that two concurrent decisions rest on. The contract suite tries the rest on both databases. */

import { expect } from 'chai';
import { applySecurityEvent } from '../../../application/decisions/apply-security-event.ts';
import { logOut } from '../../../application/decisions/log-out.ts';
import { isLoggedOut } from '../../../application/decisions/logged-out.ts';
import { openTask } from '../../../application/decisions/open-task.ts';
import { renewGrant } from '../../../application/decisions/renew-grant.ts';
import { plusSeconds } from '../../../domain/instant.ts';
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

describe('The judges of signals', () => {
  const signal = { issuer: 'https://idp.example', jti: 'a-jti', forgetAt: NOON, at: NOON };
  const live = { taskIds: [], delegated: new Set<never>(), sponsors: [] };

  it('do nothing for a signal that was accepted before', () => {
    const repeated = { verdict: { kind: 'repeated' }, effects: [] };
    const facts = { accepted: true, blocks: [], live, remembered: undefined };
    expect(logOut.judge({ ...signal, loggedOut: { kind: 'person', subject: 'ada' } }, facts)).to.deep.equal(repeated);
    const action = { sponsorKey: opening.task.sponsorKey, statedAt: NOON, reasons: [], lift: true } as const;
    const event = { ...signal, action: { ...action, block: undefined, end: undefined } };
    expect(applySecurityEvent.judge(event, facts)).to.deep.equal(repeated);
  });

  it('remember each accepted signal', () => {
    const facts = { accepted: false, blocks: [], live, remembered: undefined };
    const { effects } = logOut.judge({ ...signal, loggedOut: { kind: 'person', subject: 'ada' } }, facts);
    expect(effects[0]).to.deep.include({ effect: 'accept_signal', receiver: 'logout', jti: 'a-jti' });
  });

  for (const [title, logouts, issuedAt, refused] of [
    ['no logout', [undefined, undefined], NOON, false],
    ['a logout of its session, whenever it was issued', [undefined, 0], plusSeconds(NOON, 9), true],
    ['a later logout of its person', [1, undefined], NOON, true],
    ['a logout of its person in the same second', [0, undefined], NOON, true],
    ['an earlier logout of its person', [-1, undefined], NOON, false],
    ['a logout of its person, and it has no iat', [-1, undefined], undefined, true],
  ] as const) {
    it(`${refused ? 'refuse' : 'accept'} a subject token after ${title}`, () => {
      const forgetAt = plusSeconds(NOON, 100);
      const known = logouts.map((seconds) =>
        seconds === undefined ? undefined : { statedAt: plusSeconds(NOON, seconds), forgetAt },
      );
      expect(isLoggedOut(known, issuedAt, NOON)).to.equal(refused);
      expect(isLoggedOut(known, issuedAt, forgetAt), 'once it is forgotten').to.equal(false);
    });
  }
});
