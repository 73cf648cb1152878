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
const used = { agentId, jti: 'one', forgetAt: plusSeconds(NOON, 360) };
const one: SpentAssertion = { ...used, latestForgetAt: plusSeconds(NOON, 900) };
const two = { jti: 'two', forgetAt: plusSeconds(NOON, 120) };
const both: SpentAssertion = { ...one, clientAssertion: two };
const SPEND_ONE = { effect: 'spend_assertion', ...used };
const SPEND_TWO = { effect: 'spend_assertion', agentId, ...two };

describe('The assertions of a request', () => {
  for (const [title, assertion, names] of [
    ['none', undefined, []],
    ['one assertion', one, ['one']],
    ['an assertion and a client assertion', both, ['one', 'two']],
  ] as const) {
    it(`are locked and looked up by agent and jti: ${title}`, () => {
      expect(lockNames(assertionLocks(assertion))).to.deep.equal(
        names.map((jti) => `exclusive assertion ${agentId} ${jti}`),
      );
      expect(assertionQuestions(assertion)).to.deep.equal(
        names.map((jti) => ({
          fact: 'assertion_spent',
          about: { agentId, jti, latestForgetAt: jti === 'one' ? plusSeconds(NOON, 900) : two.forgetAt },
        })),
      );
    });
  }

  for (const [title, assertion, spent, replayed, effects] of [
    ['are marked as used: none', undefined, [], false, []],
    ['are marked as used: one unused assertion', one, [false], false, [SPEND_ONE]],
    ['are a replay and not marked again: one used assertion', one, [true], true, []],
    [
      'are marked as used: two unused assertions, each with its own forgetAt',
      both,
      [false, false],
      false,
      [SPEND_ONE, SPEND_TWO],
    ],
    ['are a replay if the first was used before; only the second is marked', both, [true, false], true, [SPEND_TWO]],
    ['are a replay if the second was used before; only the first is marked', both, [false, true], true, [SPEND_ONE]],
  ] as const) {
    it(title, () => {
      expect(isReplayed(spent)).to.equal(replayed);
      expect(spend(assertion, spent)).to.deep.equal(effects);
    });
  }
});
