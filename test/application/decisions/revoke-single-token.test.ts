import { expect } from 'chai';
import { assertionQuestions } from '../../../application/decisions/assertion.ts';
import { revokeSingleToken, type TokenRevocation } from '../../../application/decisions/revoke-single-token.ts';
import { makeTokenId } from '../../../domain/identifiers.ts';
import { plusSeconds } from '../../../domain/instant.ts';
import {
  anAssertion,
  anEntry,
  anOpening,
  aTokenRevocation,
  withClientAssertion,
} from '../../contract/storage-fixtures.ts';
import { lockNames } from '../../support/decision-fixtures.ts';
import { anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';

const task = aTask();
const { agentId, taskId } = task;
const token = {
  tokenId: makeTokenId('01M31S7W68TMK7WDX8YKPSYTEZ'),
  taskId,
  at: plusSeconds(NOON, 2),
  reason: 'client_revoked',
  forgetAt: plusSeconds(NOON, 360),
} as const;
const { claims, issuer } = aTokenRevocation({ ...anOpening(anAgent()), task });
const revocation: TokenRevocation = {
  ...token,
  claims,
  issuer,
  assertion: withClientAssertion(anAssertion(agentId, 'one'), { ...anAssertion(agentId, 'two'), forgetAt: NOON }),
  entry: anEntry('token.revoked', { jti: token.tokenId, agentId, reason: 'client_revoked' }),
};
const SPENT = [
  { effect: 'spend_assertion', agentId, jti: 'one', forgetAt: revocation.assertion?.forgetAt },
  { effect: 'spend_assertion', agentId, jti: 'two', forgetAt: NOON },
];

describe('Revoking a single token', () => {
  it('marks the assertions as used, stores the revocation and appends the entry', () => {
    expect(revokeSingleToken.judge(revocation, { spent: [false, false], task, revoked: false })).to.deep.equal({
      verdict: 'revoked',
      effects: [...SPENT, { effect: 'revoke_token', ...token }, { effect: 'append', entries: [revocation.entry] }],
    });
  });

  it('only marks the assertions as used if the token was revoked before, and keeps the first revocation', () => {
    expect(revokeSingleToken.judge(revocation, { spent: [false, false], task, revoked: true })).to.deep.equal({
      verdict: 'already_revoked',
      effects: SPENT,
    });
  });

  for (const revoked of [false, true]) {
    it(`writes nothing on a replayed assertion, for a token that was ${revoked ? '' : 'not '}revoked before`, () => {
      for (const spent of [
        [true, false],
        [false, true],
      ]) {
        const judgement = revokeSingleToken.judge(revocation, { spent, task, revoked });
        expect(judgement).to.deep.equal({ verdict: 'replayed', effects: [] });
      }
    });
  }

  it('writes nothing about a token that differs from its stored task', () => {
    const other = aTask({ sponsor: 'ceo' });
    for (const revoked of [false, true]) {
      const judgement = revokeSingleToken.judge(revocation, { spent: [false, false], task: other, revoked });
      expect(judgement).to.deep.equal({ verdict: 'mismatch', effects: [] });
    }
  });

  it('only marks the assertions as used if the task is not stored', () => {
    const judgement = revokeSingleToken.judge(revocation, { spent: [false, false], task: undefined, revoked: false });
    expect(judgement).to.deep.equal({ verdict: 'no_task', effects: SPENT });
  });

  it('reads the assertions and the token', () => {
    expect(revokeSingleToken.asks(revocation)).to.deep.equal({
      spent: assertionQuestions(revocation.assertion),
      task: { fact: 'task_terms', about: taskId },
      revoked: { fact: 'token_revoked', about: token.tokenId },
    });
  });

  it('locks its assertions and the token exclusively', () => {
    expect(lockNames(revokeSingleToken.locks(revocation))).to.deep.equal([
      `exclusive assertion ${agentId} one`,
      `exclusive assertion ${agentId} two`,
      `exclusive token ${token.tokenId}`,
    ]);
  });
});
