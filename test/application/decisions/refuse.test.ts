import { expect } from 'chai';
import { assertionQuestions } from '../../../application/decisions/assertion.ts';
import { type Refusal, refuse } from '../../../application/decisions/refuse.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import { anAssertion, aRefusal, newSponsorKey, withClientAssertion } from '../../contract/storage-fixtures.ts';
import { aStatedBlock, lockNames } from '../../support/decision-fixtures.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

const agentId = agentIdOf('jira-triage');
const assertion = withClientAssertion(anAssertion(agentId, 'one'), { ...anAssertion(agentId, 'two'), forgetAt: NOON });
const sponsorKey = newSponsorKey();
const entry = aRefusal('scope_widened', { agentId, sponsor: 'ada', audience: 'https://jira.example' });
const owner = { agentId, taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTES'), sponsorKey };
const refusal: Refusal = { entry, assertion, sponsorKey };
const SPEND_ONE = { effect: 'spend_assertion', agentId, jti: 'one', forgetAt: assertion.forgetAt };
const SPEND_TWO = { effect: 'spend_assertion', agentId, jti: 'two', forgetAt: NOON };

describe('Recording a refusal', () => {
  const disabled = [aStatedBlock({ kind: 'disabled' }), aStatedBlock({ kind: 'deleted', source: 'scim' })];
  for (const [title, facts, reason, spent] of [
    [
      'under its own reason, and marks both assertions as used',
      { spent: [false, false], blocks: [] },
      'scope_widened',
      [SPEND_ONE, SPEND_TWO],
    ],
    [
      'as a replay if the assertion was used before, and marks the client assertion as used',
      { spent: [true, false], blocks: [] },
      'actor_replayed',
      [SPEND_TWO],
    ],
    [
      'as a replay if the client assertion was used before, and marks the assertion as used',
      { spent: [false, true], blocks: [] },
      'actor_replayed',
      [SPEND_ONE],
    ],
    [
      'under the reason of the oldest block, and marks both assertions as used',
      { spent: [false, false], blocks: disabled },
      'sponsor_disabled',
      [SPEND_ONE, SPEND_TWO],
    ],
    [
      'under the reason of the oldest block, also of a deleted person',
      { spent: [false, false], blocks: disabled.toReversed() },
      'sponsor_not_found',
      [SPEND_ONE, SPEND_TWO],
    ],
    ['as a replay, also of a blocked person', { spent: [true, true], blocks: disabled }, 'actor_replayed', []],
  ] as const) {
    it(`stores the denial ${title}`, () => {
      const judgement = refuse.judge(refusal, { ...facts, owner: undefined });
      expect(judgement).to.deep.equal({
        verdict: reason,
        effects: [...spent, { effect: 'append', entries: [{ ...entry, reason }] }],
      });
      expect(refuse.denial?.(refusal, judgement.verdict)).to.deep.equal({ event: 'token.denied', reason });
    });
  }

  it('keeps the reason of a refusal without an assertion and without a person', () => {
    expect(refuse.judge({ entry }, { spent: [], blocks: undefined, owner: undefined })).to.deep.equal({
      verdict: 'scope_widened',
      effects: [{ effect: 'append', entries: [entry] }],
    });
  });

  it('writes nothing if the grant that a read did not find is stored, and this agent has it', () => {
    const unknown: Refusal = { ...refusal, unknownGrant: 'a-hash' };
    expect(refuse.asks(unknown)).to.deep.include({ owner: { fact: 'grant_owner', about: 'a-hash' } });
    const facts = { spent: [false, false], blocks: [] };
    const stored = refuse.judge(unknown, { ...facts, owner });
    expect(stored).to.deep.equal({ verdict: 'grant_exists', effects: [] });
    expect(refuse.denial?.(unknown, stored.verdict)).to.equal(undefined);
    expect(refuse.judge(unknown, { ...facts, owner: { ...owner, agentId: agentIdOf('another') } }).verdict).to.equal(
      'scope_widened',
    );
  });

  it('reads the assertions, and the blocks of the person whom the refusal names', () => {
    const spent = assertionQuestions(assertion);
    expect(refuse.asks(refusal)).to.deep.equal({
      spent,
      blocks: { fact: 'blocks', about: sponsorKey },
      owner: undefined,
    });
    expect(refuse.asks({ entry }), 'neither is named').to.deep.equal({
      spent: [],
      blocks: undefined,
      owner: undefined,
    });
  });

  it('shares the lock of the person whom the refusal names, and locks its assertions exclusively', () => {
    expect(lockNames(refuse.locks(refusal))).to.deep.equal([
      `shared sponsor ${sponsorKey}`,
      `exclusive assertion ${agentId} one`,
      `exclusive assertion ${agentId} two`,
    ]);
    expect(refuse.locks({ entry }), 'neither is named').to.deep.equal([]);
  });
});
