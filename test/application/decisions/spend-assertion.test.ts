import { expect } from 'chai';
import { assertionQuestions } from '../../../application/decisions/assertion.ts';
import { spendAssertion } from '../../../application/decisions/spend-assertion.ts';
import { anAssertion, withClientAssertion } from '../../contract/storage-fixtures.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

const agentId = agentIdOf('jira-triage');
const assertion = withClientAssertion(anAssertion(agentId, 'one'), { ...anAssertion(agentId, 'two'), forgetAt: NOON });

describe('Using up assertions without another change', () => {
  it('marks both as used, and records nothing', () => {
    expect(spendAssertion.judge(assertion, { spent: [false, false] })).to.deep.equal({
      verdict: 'spent',
      effects: [
        { effect: 'spend_assertion', agentId, jti: 'one', forgetAt: assertion.forgetAt },
        { effect: 'spend_assertion', agentId, jti: 'two', forgetAt: NOON },
      ],
    });
  });

  for (const spent of [
    [true, false],
    [false, true],
  ]) {
    it(`marks neither as used if ${spent[0] ? 'the assertion' : 'the client assertion'} was used before`, () => {
      expect(spendAssertion.judge(assertion, { spent })).to.deep.equal({ verdict: 'replayed', effects: [] });
    });
  }

  it('reads the assertions, and locks them exclusively', () => {
    expect(spendAssertion.asks(assertion)).to.deep.equal({
      spent: assertionQuestions(assertion),
    });
    expect(lockNames(spendAssertion.locks(assertion))).to.deep.equal([
      `exclusive assertion ${agentId} one`,
      `exclusive assertion ${agentId} two`,
    ]);
  });
});
