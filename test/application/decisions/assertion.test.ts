import { expect } from 'chai';
import {
  assertionLocks,
  assertionQuestions,
  isReplayed,
  type SpentAssertion,
  spend,
} from '../../../application/decisions/assertion.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { agentIdOf, NOON } from '../../support/domain-fixtures.ts';

const agentId = agentIdOf('jira-triage');
const one: SpentAssertion = { agentId, jti: 'one', forgetAt: plusSeconds(NOON, 360) };
const two = { jti: 'two', forgetAt: plusSeconds(NOON, 120) };
const both: SpentAssertion = { ...one, clientAssertion: two };
const SPEND_ONE = { effect: 'spend_assertion', ...one };
const SPEND_TWO = { effect: 'spend_assertion', agentId, ...two };

describe('The one use of a client assertion', () => {
  for (const [title, assertion, names] of [
    ['no assertion', undefined, []],
    ['one assertion', one, ['one']],
    ['an assertion and a client assertion', both, ['one', 'two']],
  ] as const) {
    it(`locks and asks about ${title}, each by agent and jti`, () => {
      expect(lockNames(assertionLocks(assertion))).to.deep.equal(
        names.map((jti) => `exclusive assertion ${agentId} ${jti}`),
      );
      expect(assertionQuestions(assertion)).to.deep.equal(
        names.map((jti) => ({ fact: 'assertion_spent', about: { agentId, jti } })),
      );
    });
  }

  for (const [title, assertion, spent, replayed, effects] of [
    ['spends nothing without an assertion', undefined, [], false, []],
    ['spends an unused assertion', one, [false], false, [SPEND_ONE]],
    ['does not spend a used assertion again', one, [true], true, []],
    ['spends two unused assertions, each with its own times', both, [false, false], false, [SPEND_ONE, SPEND_TWO]],
    ['finds a replay of the first assertion, and can spend the second', both, [true, false], true, [SPEND_TWO]],
    ['finds a replay of the second assertion, and can spend the first', both, [false, true], true, [SPEND_ONE]],
  ] as const) {
    it(title, () => {
      expect(isReplayed(spent)).to.equal(replayed);
      expect(spend(assertion, spent)).to.deep.equal(effects);
    });
  }
});
