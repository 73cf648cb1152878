import { expect } from 'chai';
import { plusSeconds } from '../../../domain/instant.ts';
import { judgeStanding, type TokenFacts } from '../../../domain/tasks/task-token.ts';
import { aTask, NOON } from '../../support/domain-fixtures.ts';

const facts: TokenFacts = {
  tokenRevocation: undefined,
  task: aTask({ expiresAt: plusSeconds(NOON, 60) }),
  taskState: { kind: 'live' },
  agentEnabled: true,
  above: [],
};
const byClient = { at: NOON, reason: 'client_revoked' } as const;
const byBlock = { kind: 'revoked', at: plusSeconds(NOON, -9), reason: 'sponsor_blocked' } as const;

describe('the state of a token', () => {
  it('is active if token, task and agent are all valid', () => {
    expect(judgeStanding(facts, NOON)).to.deep.equal({ kind: 'active' });
  });

  it('is revoked, with the time and reason, if the token or its task was revoked', () => {
    expect(judgeStanding({ ...facts, tokenRevocation: byClient }, NOON)).to.deep.equal({
      kind: 'revoked',
      revocation: byClient,
    });
    expect(judgeStanding({ ...facts, taskState: byBlock }, NOON)).to.deep.include({
      kind: 'revoked',
      revocation: byBlock,
    });
  });

  it('is inactive once the task has expired, before and after the expiry is recorded', () => {
    expect(judgeStanding({ ...facts, task: aTask({ expiresAt: NOON }) }, NOON)).to.deep.equal({ kind: 'inactive' });
    expect(judgeStanding({ ...facts, taskState: { kind: 'expired', at: NOON } }, NOON)).to.deep.equal({
      kind: 'inactive',
    });
  });

  it('reports a disabled agent only for an otherwise valid token', () => {
    expect(judgeStanding({ ...facts, agentEnabled: false }, NOON)).to.deep.equal({ kind: 'agent_disabled' });
    expect(judgeStanding({ ...facts, agentEnabled: false, task: aTask({ expiresAt: NOON }) }, NOON)).to.deep.equal({
      kind: 'inactive',
    });
    expect(judgeStanding({ ...facts, agentEnabled: false, tokenRevocation: byClient }, NOON)).to.include({
      kind: 'revoked',
    });
  });
});
